"""The page of the measurements, made of results that were made up; the one in docs is up to date."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

import kernel_times
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


PROGRAMS = [program("rodinia/bfs", gpu=1.25, host=3.0), program("xsbench/unknown", gpu=5.0)]
OVERHEAD = {
    "machine": MACHINE,
    "goal": {"median": 1.5, "most": 4.0},
    "summary": overhead.summary(PROGRAMS),
    "failed": [],
    "programs": PROGRAMS,
}


KERNELS = {
    "machine": MACHINE,
    "goal": {"mean": 1.5, "most": 2.2},
    "failed": ["bytes: gpu: more than 9 s"],
    "kernels": [
        {
            "program": name,
            "kernel": name,
            "milliseconds": {"plain": 0.1, "empty": 1.0, "gpu": ratio},
            "ratio": ratio,
        }
        for name, ratio in (("microbenchmarks", 1.0), ("labels", 4.0))
    ],
}
KERNELS["summary"] = kernel_times.summary(KERNELS["kernels"])


def way(seconds, times, *numbers):
    return {"seconds": seconds, "times": times, "numbers": list(numbers)}


LAUNCHES = {
    **MACHINE,
    "count": 10000,
    "repetitions": 3,
    "not_begun": ["many blocks: the time given was used up"],
    "launches": {
        "ways": {
            "plain": way(0.3, 1.0, 40.0, 0, 0),
            "gpu": way(1.2, 4.0, 400.0, 1318, 1318),
            "host": {"failure": "more than 9 s"},
        }
    },
    "unselected": {"ways": {"plain": way(0.5, 1.0, 10.0), "gpu": way(0.7, 1.4, 10.2)}},
}
ORDER = {
    **MACHINE,
    "kernels": {
        "shrink": 8,
        "rounds": 2,
        "milliseconds": {
            "copy": {"plain": 0.1, "off": 1.0, "on": 1.0},
            "softmax": {"plain": 0.1, "off": 1.0, "on": 4.0},
        },
    },
    "examples": {
        "programs": {
            "softmax": {
                "arguments": ["8"],
                "seconds": {"plain": 1.0, "off": 2.0, "on": 3.0, "host": 4.0},
                "as_the_host_engine": True,
            }
        }
    },
}


def moving(name, most, *, small=False):
    level = {
        "count": 1,
        "identical": 0,
        "mean": most / 2,
        "mean_within": 0,
        "max": most,
        "max_within": most / 4,
    }
    return {
        "program": name,
        "small": small,
        "launches": 1,
        "moving": [1],
        "reason": "a race",
        "traffic": {**level, "mean_across": most, "max_across": most},
    }


ROWS = [moving("still", 0.0), moving("stencil", 0.02), moving("stencil 64", 0.5, small=True)]
STABILITY = {
    "machine": MACHINE,
    "runs_per_engine": 10,
    "goal": {"mean": 0.0005, "max": 0.01},
    "traffic": {
        "count": 2,
        "identical": 1,
        "mean": 0.005,
        "mean_within": 0,
        "max": 0.02,
        "max_within": 0.005,
    },
    "programs": ROWS,
}


@pytest.fixture
def made(tmp_path):
    return page(tmp_path, {"fidelity": FIDELITY, "overhead": OVERHEAD})


def page(folder, results):
    for name, result in results.items():
        (folder / f"{name}.json").write_text(json.dumps(result))
    return validation.make(folder)


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
    assert "| `xsbench/unknown` | 5.00x (5.00 s) | 1 launches left to the host: too large |" in text
    assert "| GPU engine | 2 | 3.12x | 5.00x |" in text
    assert "more than 60 s" in text


def test_the_median_says_what_it_leaves_out():
    rows = [program(f"a/{ratio}", gpu=ratio, host=1.0) for ratio in (1.0, 1.2, 4.0)]
    late = program("a/late", host=1.0) | {"failures": {"gpu": "more than 9 s"}}
    assert overhead_section._unended(rows) == ""
    assert "`a/late`, which did not end" in overhead_section._unended([*rows, late])
    assert f"the median is 2.60{markdown.TIMES}" in overhead_section._unended([*rows, late])
    assert "the median is not known" in overhead_section._unended([rows[0], late, late])


def test_kernels_that_take_too_long_and_means_are_marked(tmp_path):
    lines = page(tmp_path, {"kernel-times": KERNELS})["validation.md"].splitlines()
    assert "| `labels` | `labels` | 0.100 | 1.000 | 4.000 | 4.00 (missed) |" in lines
    assert "| all | 2 | 2.00 | 4.00 | missed (mean, most) |" in lines
    assert "| microbenchmarks | 1 | 1.00 | 1.00 | met |" in lines
    assert "- `bytes`: gpu: more than 9 s" in lines


def test_launches_say_which_goals_are_missed_and_what_failed(tmp_path):
    text = page(tmp_path, {"launches": LAUNCHES})["validation.md"]
    lines = text.replace(markdown.TIMES, "x").splitlines()
    assert "- 10000 launches: 10.0 x their time, 4.00 x the program (goal: 3): MISSED" in lines
    assert "- device memory: 1318 MiB after a tenth of them, 1318 after all: flat" in lines
    assert "- a kernel not profiled: 1.020 x its time (goal: 1.05): met" in lines
    assert "- FAILED: launches, host: more than 9 s" in lines
    assert "- many blocks: the time given was used up" in lines
    numbers = "400 ms for all launches, 1318 MiB of device memory after a tenth, 1318 MiB after all"
    assert f"| `launches` | gpu | 1.20 s | 4.00x | {numbers} |" in lines


def test_the_order_of_barriers_is_given_over_off(tmp_path):
    text = page(tmp_path, {"barrier-order": ORDER})["validation.md"]
    assert "**`on` takes 2.00 times the kernel time\nof `off` (geometric mean), at most 4.00.**" in text
    assert "| `softmax` | 0.100 | 1.000 | 4.000 | 4.00 |" in text
    assert "| `softmax 8` | 1.00 | 2.00 | 3.00 | 4.00 | yes |" in text


def test_small_programs_stand_apart_and_miss_no_goal(tmp_path):
    text = page(tmp_path, {"stability": STABILITY})["validation.md"]
    assert "Beyond 1 % for all traffic of a launch: `stencil`; between runs of one engine none does." in text
    head, _, tail = text.partition("Small on purpose")
    assert "| `stencil 64` | 1 | 25.0000 % | 50.0000 % | a race |" in tail
    assert "stencil 64" not in head.split("## Stability")[1].partition("| program |")[2]


def test_charts_are_images_of_the_page(made):
    (name,) = [name for name in made if name.endswith(".svg")]
    assert f"]({name})" in made["validation.md"]
    ElementTree.fromstring(made[name])


def test_the_page_in_docs_is_what_the_results_say():
    for name, text in validation.make().items():
        path = validation.DOCS / name
        assert path.exists(), f"{name} is missing: run benchmarks/validation.py"
        assert path.read_text() == text, f"{name} is out of date: run benchmarks/validation.py"
