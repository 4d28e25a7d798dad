"""The case studies: each fix is small; recordings show which finding led to it and went away."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

import case_studies
import cases_page
import counts
import golden
from cuvein.collect.replay import replay
from cuvein.patterns import PATTERNS, pattern_named
from unit.profiles.command import command_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Profiles = Callable[[str, str], Path]

CASES = case_studies.cases()
TRACES = golden.FOLDER / "cases"
MOST_CHANGES = 15


@cache
def recordings() -> dict[str, dict[str, object]]:
    path = TRACES / golden.MANIFEST
    return dict(json.loads(path.read_text())["recordings"]) if path.exists() else {}


RECORDED = [name for name in CASES if f"{name}-after" in recordings()]
recorded = pytest.mark.skipif(not RECORDED, reason="nothing recorded yet: tests/golden/record_cases.py")


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_complete(name: str) -> None:
    case = CASES[name]
    folder = case_studies.FOLDER / name
    suffix = case.source("before").suffix
    common = {".cu": "problem.h", ".py": "problem.py"}[suffix]
    expected = {f"before{suffix}", f"after{suffix}", common, "expect.json"}
    assert expected <= {path.name for path in folder.iterdir()}
    assert case.pattern in {pattern.name for pattern in PATTERNS}
    assert case.quantity in case_studies.QUANTITIES
    assert case.title
    assert case.fix


@pytest.mark.parametrize("name", CASES)
def test_the_fix_is_small(name: str) -> None:
    assert 0 < CASES[name].changed_lines() < MOST_CHANGES


@pytest.fixture(scope="session")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Profiles:
    """Return a function that replays a recording once and returns the folder of its profiles."""
    root = tmp_path_factory.mktemp("cases")

    @cache
    def folder(name: str, variant: str) -> Path:
        output = root / f"{name}-{variant}"
        output.mkdir()
        replay(TRACES / f"{name}-{variant}.cvt", output)
        return output

    return folder


@recorded
@pytest.mark.parametrize("name", RECORDED)
def test_the_leading_finding_is_the_one_that_the_fix_answers(name: str, profiles: Profiles) -> None:
    found = case_studies.compared(CASES[name], profiles(name, "before"), profiles(name, "after"))
    assert found["rank"] == 1
    assert CASES[name].pattern in found["stayed" if CASES[name].stays else "gone"]


@recorded
@pytest.mark.parametrize("name", RECORDED)
def test_the_fix_removes_what_the_finding_says(name: str, profiles: Profiles) -> None:
    case = CASES[name]
    found = case_studies.compared(case, profiles(name, "before"), profiles(name, "after"))
    if found["predicted"] is None or case.removal:
        pytest.skip(case.removal or f"the graph does not predict {case.quantity}")
    assert found["before"] - found["after"] == pytest.approx(found["predicted"], rel=0.01)


@recorded
@pytest.mark.parametrize("name", RECORDED)
def test_the_comparison_names_the_finding_that_went_away(
    name: str, profiles: Profiles, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = command_line(monkeypatch, capsys)
    status, text, _ = run("diff", profiles(name, "before"), profiles(name, "after"))
    gone = text.partition("Findings that went away")[2].partition("\n\n")[0]
    assert status == 0
    assert (pattern_named(CASES[name].pattern).title in gone) is not bool(CASES[name].stays)


@recorded
def test_the_manifest_is_of_these_traces() -> None:
    files = {path.stem: path.read_bytes() for path in TRACES.glob("*.cvt")}
    assert {name: entry["trace_sha256"] for name, entry in recordings().items()} == {
        name: hashlib.sha256(data).hexdigest() for name, data in files.items()
    }
    assert set(files) <= {f"{name}-{variant}" for name in CASES for variant in ("before", "after")}
    assert sum(map(len, files.values())) < 1_500_000


@pytest.mark.skipif(not cases_page.RESULTS.exists(), reason="no results yet: make cases")
def test_the_page_is_made_of_the_results() -> None:
    document = json.loads(cases_page.RESULTS.read_text())
    assert cases_page.PAGE.read_text() == cases_page.page(document), "run benchmarks/cases_page.py"
    assert set(document["cases"]) <= set(CASES)


def test_differences_are_explained_to_the_last_count() -> None:
    measured = {row.case.name: row for row in cases_page.rows(json.loads(cases_page.RESULTS.read_text()))}
    ttm, histogram = measured["ttm"], measured["histogram"]
    told = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]{4,}", ttm.case.removal)]
    assert ttm.predicted is not None
    assert ttm.predicted - sum(told) == ttm.removed
    atomics = histogram.found["count"]["before"]
    for metrics in (case_studies.TAGGED, counts.QUANTITIES["global atomic sectors"].counters):
        assert f"{sum(atomics[metric] for metric in metrics):,.0f}" in histogram.case.notes


def measured(before: float, after: float, *, predicted: int | None = 100, rank: int = 1) -> dict[str, Any]:
    """Return results of the case softmax, whose quantity are instructions of shared memory."""
    first, *others = case_studies.QUANTITIES[CASES["softmax"].quantity].metrics
    none = dict.fromkeys(others, 0.0)
    return {
        "observe": {"rank": rank, "predicted": predicted, "gone": {"shared-memory-abuse": 1}},
        "count": {"before": {first: 200.0, **none}, "after": {first: 100.0, **none}},
        "time": {"before": [before], "after": [after]},
    }


@pytest.mark.parametrize(
    ("results", "said"),
    [
        (measured(300, 100), "Leading finding is the one answered: 1 of 1"),
        (measured(300, 100, rank=2), "Leading finding is the one answered: 0 of 1 (not: softmax)"),
        (measured(300, 100), "Removed as predicted within 1 %: 1 of 1"),
        (measured(300, 100, predicted=102), "Removed as predicted within 1 %: 0 of 1 (not: softmax)"),
        (measured(300, 100), ": softmax 3.00"),
        (measured(100, 101), "Slower: none"),
        (measured(100, 103), "Slower: softmax"),
        ({"observe": {"rank": 1, "predicted": 100}}, "Counters not read yet: softmax"),
        ({"observe": {"rank": 1, "predicted": 100}}, "names what went: 0 of 1 (not: softmax)"),
    ],
)
def test_the_goals_are_judged_by_the_results(results: dict[str, Any], said: str) -> None:
    goals = cases_page.goals({"cases": {"softmax": results}})
    assert any(said in goal for goal in goals), goals


def test_a_sum_of_counters_needs_them_all() -> None:
    results = measured(300, 100)
    assert len(results["count"]["after"]) > 1
    results["count"]["after"].popitem()
    (row,) = cases_page.rows({"cases": {"softmax": results}})
    assert row.counted("before") == 200
    assert row.counted("after") is None
    assert row.removed is None


def test_predicted_of_memory_is_what_is_read_beyond_the_first_time() -> None:
    (metric,) = case_studies.QUANTITIES["bytes read from DRAM"].metrics
    results = {
        "observe": {"rank": 1, "predicted": None, "once": 50},
        "count": {"before": {metric: 170.0}, "after": {metric: 51.0}},
    }
    (row,) = cases_page.rows({"cases": {"lookup": results}})
    assert (row.predicted, row.removed, row.as_predicted) == (120, 119, True)


@recorded
def test_what_a_look_up_reads_first_is_its_input(profiles: Profiles) -> None:
    case = CASES["lookup"]
    rows, entries = map(int, case.small)
    state, used = 1, set()
    for _ in range(rows):
        state = (state * 1664525 + 1013904223) % 2**32
        used.add(state * entries >> 32)
    found = case_studies.compared(case, profiles("lookup", "before"), profiles("lookup", "after"))
    assert (found["predicted"], found["once"]) == (None, rows * 4 + len(used) * 64)


def test_the_page_says_what_a_kernel_waits_for_where_time_stayed() -> None:
    results = measured(100, 100)
    for variant, cycles in (("before", 20.0), ("after", 19.0)):
        results["count"][variant] |= {
            case_studies.BUSY["DRAM"]: 90.0,
            case_studies.LATENCY: cycles,
            case_studies.STALLS["global memory"]: cycles - 5,
            case_studies.STALLS["barriers"]: 1.0,
        }
    (row,) = cases_page.rows({"cases": {"softmax": results}})
    text = cases_page.unmoved(row)
    assert "DRAM 90 % and 90 %" in text
    assert "20.0 and 19.0, of which it waits 15.0 and 14.0 for global memory" in text


def test_the_page_gives_the_cycles_with_the_least_and_the_greatest() -> None:
    document = json.loads(cases_page.RESULTS.read_text())
    document["cases"]["softmax"]["time"] |= {"before": [1290, 1300, 1310], "after": [990, 1010]}
    text = " ".join(cases_page.page(document).split())
    assert "Cycles: 1,300 (1,290 to 1,310) before, 1,000 (990 to 1,010) after." in text
