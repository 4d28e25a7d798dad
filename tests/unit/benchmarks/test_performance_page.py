"""The first table of ``docs/performance.md`` says what the results say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import launches
import overhead

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "performance.md").read_text()
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()


def result(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def verdict(number, goal, missed="missed"):
    return "met" if number <= goal else missed


def measured():
    """Give of each row of the table the goal, what was measured and the verdict."""
    times = result("kernel-times")
    mean, most = times["goal"]["mean"], times["goal"]["most"]
    kernels, examples = times["summary"]["microbenchmarks"], times["summary"]["examples"]
    slow = [row for row in times["kernels"] if row["ratio"] > most and row["program"] != "microbenchmarks"]
    worst = {
        group: max(
            (row for row in times["kernels"] if (row["program"] == "microbenchmarks") == (group == "six")),
            key=lambda row: row["ratio"],
        )
        for group in ("six", "examples")
    }
    programs = result("overhead")
    above = sorted(
        (
            (row["ratio"]["gpu"], row["name"].split("/")[0 if row["name"].startswith("llm.c") else 1])
            for row in programs["programs"]
            if row["ratio"].get("gpu", 0) > overhead.GOAL_MOST
        ),
        reverse=True,
    )
    whole = programs["summary"]["gpu"]
    many = result("launches")
    ways = many["launches"]["ways"]
    early, late = ways["gpu"]["numbers"][1:3]
    # Recorded before there was a choice by size, there is no `auto`.
    chosen = f"{ways['auto']['times']:.2f}; all on the GPU engine " if "auto" in ways else ""
    unselected = many["unselected"]["ways"]
    unselected = unselected["gpu"]["numbers"][0] / unselected["plain"]["numbers"][0]
    doublings = [result("scaling")["gpu"][axis]["largest_ratio_of_doubling"] for axis in ("grid", "length")]
    second = result("launch-ends")["launches on a second machine"]["ways"]
    return [
        (f"{mean:g}", f"{kernels['mean']:.2f}", verdict(kernels["mean"], mean)),
        (f"{most:g}", f"{kernels['most']:.2f} (`{worst['six']['kernel']}`)", verdict(kernels["most"], most)),
        (f"{mean:g}", f"{examples['mean']:.2f}", verdict(examples["mean"], mean)),
        (
            f"{most:g}",
            f"{examples['most']:.2f} (`{worst['examples']['program']}`)",
            verdict(examples["most"], most, f"missed by {len(slow)}"),
        ),
        (
            f"{overhead.GOAL_MEDIAN:g}",
            f"{whole['median']:.2f}",
            verdict(whole["median"], overhead.GOAL_MEDIAN),
        ),
        (
            f"{overhead.GOAL_MOST:g}",
            ", ".join(f"{ratio:.2f} ({name})" for ratio, name in above) or f"{whole['most']:.2f}",
            verdict(whole["most"], overhead.GOAL_MOST, f"missed by {len(above)}"),
        ),
        (
            f"{launches.GOAL_LAUNCHES:g}",
            f"{chosen}{ways['gpu']['times']:.2f}, merged {ways['gpu, merged']['times']:.2f}; on a second "
            f"machine at 295fb66 {second['gpu']['times']:.2f}, merged {second['gpu, merged']['times']:.2f} "
            "(`launch-ends.json`)",
            verdict(ways.get("auto", ways["gpu"])["times"], launches.GOAL_LAUNCHES),
        ),
        ("the same", "the same" if late <= early else f"{late / early:.2f}", verdict(late, early)),
        (f"{launches.GOAL_UNSELECTED:g}", f"{unselected:.2f}", verdict(unselected, launches.GOAL_UNSELECTED)),
        ("2.2", ", ".join(f"{ratio:.2f}" for ratio in doublings), verdict(max(doublings), 2.2)),
    ]


def test_the_table_has_what_was_measured():
    table = PAGE[PAGE.index("| | goal | measured | |") :]
    rows = [line.strip("| ").split(" | ") for line in table[: table.index("\n\n")].splitlines()[2:]]
    assert [tuple(row[1:]) for row in rows] == measured()
    assert f"wall time of {result('overhead')['summary']['gpu']['programs']} whole programs" in rows[4][0]


def test_other_sentences_have_it_too():
    order = result("barrier-order")["kernels"]["milliseconds"]
    ratios = [row["on"] / row["off"] for row in order.values()]
    mean = 1.0
    for ratio in ratios:
        mean *= ratio ** (1 / len(ratios))
    assert (
        f"takes {mean:.2f} times the kernel time of `off` over six microbenchmarks, {max(ratios):.2f} at"
        in PAGE
    )
    memory = result("launches")["launches"]["ways"]["gpu"]["numbers"][1]
    assert f"The first launch takes {memory:.0f} MiB" in PAGE
    summary = result("kernel-times")["summary"]
    added = " ".join(CHANGELOG.split())
    assert f"take {summary['microbenchmarks']['mean']:.2f} times what empty callbacks cost" in added
    assert f"those of the examples {summary['examples']['mean']:.2f} times" in added
    assert re.search(rf"\(Commit {result('kernel-times')['machine']['commit']}\.\)", PAGE)
