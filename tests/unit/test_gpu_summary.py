"""The record that a run of the GPU tests leaves, whole or cut off."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))

from harness import summary


def report(
    name: str, outcome: Literal["passed", "failed"], when: Literal["call", "teardown"] = "call"
) -> pytest.TestReport:
    longrepr = None if outcome == "passed" else "E   it was wrong"
    return pytest.TestReport(name, ("file", 1, name), {}, outcome, longrepr, when, duration=0.5)


def test_a_run_that_is_cut_off_leaves_what_it_had(tmp_path: Path) -> None:
    kept = summary.Summary(tmp_path)
    kept.pytest_runtest_logreport(report("one", "passed"))
    document = json.loads((tmp_path / summary.FILE).read_text())
    assert (document["finished"], document["counts"]["passed"]) == (False, 1)
    kept.pytest_runtest_logreport(report("two", "failed"))
    kept.pytest_runtest_logreport(report("two", "passed", "teardown"))
    kept.pytest_sessionfinish()
    document = json.loads((tmp_path / summary.FILE).read_text())
    assert document["finished"]
    assert document["counts"] == {"passed": 1, "failed": 1, "skipped": 0}
    assert document["tests"][1] == {
        "test": "two",
        "outcome": "failed",
        "seconds": 1.0,
        "reason": "it was wrong",
    }
    assert [path.name for path in tmp_path.iterdir()] == [summary.FILE]
