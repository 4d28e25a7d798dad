"""The page of the measurements, made of results that were made up; the one in docs is up to date."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

import overhead
import validation
from sections import markdown
from sections import overhead as overhead_section

MACHINE = {
    "date": "2026-11-30T12:00:00+00:00",
    "commit": "0123456789ab",
    "gpu": "NVIDIA H200",
    "driver": "580.1",
    "cpu": "EPYC",
    "processors": 16,
    "versions": {"cuvein": "0.1.0", "torch": None},
}


def sums(cuvein, hardware, differing=0, largest=0.0):
    return {"cuvein": cuvein, "hardware": hardware, "differing": differing, "largest": largest}


FIDELITY = {
    "machine": MACHINE,
    "quantities": [
        {
            "name": "global load sectors",
            "cuvein": "sectors of reads",
            "counters": ["a.sum"],
            "tolerance": 0.0,
        },
        {"name": "shared load wavefronts", "cuvein": "wavefronts", "counters": ["b.sum"], "tolerance": 0.01},
    ],
    "summary": {
        "programs": 1,
        "kernels": 2,
        "launches": 3,
        "kernels_within_goal": 1,
        "engines_differ": 0,
        "quantities": {
            "global load sectors": {"kernels": 2, "differing": 1, "largest": 0.25},
            "shared load wavefronts": {"kernels": 0, "differing": 0, "largest": 0.0},
        },
    },
    "failed": ["rodinia/x: no"],
    "programs": [
        {
            "name": "rodinia/bfs",
            "kernels": [
                {
                    "kernel": "Kernel",
                    "launches": 2,
                    "quantities": {"global load sectors": sums(1000, 1000)},
                    "not_analysed": {},
                },
                {
                    "kernel": "Kernel2",
                    "launches": 1,
                    "quantities": {"global load sectors": sums(75, 100, 1, 0.25)},
                    "not_analysed": {"UTMALDG": 7},
                },
            ],
        }
    ],
}


def program(name, **seconds):
    row = {
        "name": name,
        "seconds": {"plain": [1.0], **{way: [value] for way, value in seconds.items()}},
        "ratio": seconds,
        "failures": {},
        "seen": {"gpu": {"launches": 3, "accesses": 2_500_000, "left_to_host": {"too large": 1}}},
    }
    return row if "host" in seconds else row | {"failures": {"host": "more than 60 s"}}


PROGRAMS = [program("rodinia/bfs", gpu=1.25, host=3.0), program("xsbench/XSBench", gpu=5.0)]
OVERHEAD = {
    "machine": MACHINE,
    "goal": {"median": 1.5, "most": 4.0},
    "summary": overhead.summary(PROGRAMS),
    "failed": [],
    "programs": PROGRAMS,
}


@pytest.fixture
def made(tmp_path):
    for name, result in (("fidelity", FIDELITY), ("overhead", OVERHEAD)):
        (tmp_path / f"{name}.json").write_text(json.dumps(result))
    return validation.make(tmp_path)


def test_only_sections_with_results_are_there(made):
    titles = [line for line in made["validation.md"].splitlines() if line.startswith("## ")]
    assert titles == ["## Hardware counters", "## Overhead"]
    assert "{{" not in made["validation.md"]


def test_counts_that_are_not_equal_are_listed_with_their_cause(made):
    lines = made["validation.md"].splitlines()
    assert "| `rodinia/bfs` | 2 | 3 | 1 | 25 % |  |" in lines
    difference = "global load sectors: 75 against 100 (by at most 25 %)"
    cause = "cuvein sees and does not analyse: 7 `UTMALDG`"
    assert f"| `rodinia/bfs` | `Kernel2` | {difference} | {cause} |" in lines
    assert "| `rodinia/bfs` | `Kernel2` | 1 |  | 75 / 100 |  |  |  |  |" in lines
    assert "- `rodinia/x`: no" in lines
    assert (
        "**1 of 2 kernels are within the goals, 1 of 2 of programs of others and operators.**"
        in made["validation.md"]
    )


def test_times_are_ratios_to_the_plain_run_and_misses_have_a_cause(made):
    text = made["validation.md"].replace(markdown.TIMES, "x")
    assert "| `rodinia/bfs` | 1.00 s | 3 | 2.5 M | 1.25x (1.25 s) | 3.00x (3.00 s) |" in text
    assert "| `xsbench/XSBench` | 5.00x (5.00 s) | 1 launches left to the host: too large |" in text
    assert "| GPU engine | 2 | 3.12x | 5.00x |" in text
    assert "more than 60 s" in text


def test_the_median_says_what_it_leaves_out():
    rows = [program(f"a/{ratio}", gpu=ratio, host=1.0) for ratio in (1.0, 1.2, 4.0)]
    late = program("a/late", host=1.0) | {"failures": {"gpu": "more than 9 s"}}
    assert overhead_section._unended(rows) == ""
    assert "`a/late`, which did not end" in overhead_section._unended([*rows, late])
    assert f"the median is 2.60{markdown.TIMES}" in overhead_section._unended([*rows, late])
    assert "the median is not known" in overhead_section._unended([rows[0], late, late])


def test_charts_are_images_of_the_page(made):
    (name,) = [name for name in made if name.endswith(".svg")]
    assert f"]({name})" in made["validation.md"]
    ElementTree.fromstring(made[name])


def test_the_page_in_docs_is_what_the_results_say():
    for name, text in validation.make().items():
        path = validation.DOCS / name
        assert path.exists(), f"{name} is missing: run benchmarks/validation.py"
        assert path.read_text() == text, f"{name} is out of date: run benchmarks/validation.py"
