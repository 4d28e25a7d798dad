"""What the measuring of programs keeps when something fails, and how results of several runs are united."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

import pytest

import fidelity
import nsight
import overhead
import subjects
from subjects import Subject

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("rodinia/a", "rodinia/b", "rodinia/c")


def options(tmp_path: Path, **more: Any) -> argparse.Namespace:
    given = {"what": list(NAMES), "sources": None, "work": tmp_path, "limit": 1.0, "budget": None}
    return argparse.Namespace(**{**given, "raw": tmp_path / "raw.json", **more})


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Three programs, of which the names in the list returned were given to ncu."""
    counted: list[str] = []

    def count(subject: Subject, _: float) -> list[dict[str, Any]]:
        counted.append(subject.name)
        if subject.name == "rodinia/a":
            raise nsight.NsightError("no counters")
        return [{"grid": [1, 1, 1], "block": [32, 1, 1], "counters": {}}]

    def observe(subject: Subject, _: float) -> dict[str, list[dict[str, Any]]]:
        if subject.name == "rodinia/b":
            raise fidelity.FidelityError("no profiles")
        return {"host": [], "gpu": []}

    found = [Subject(name, [f"/bin/{name[-1]}", "5"], tmp_path) for name in NAMES]
    monkeypatch.setattr(subjects, "find", lambda *_, **__: (found, []))
    monkeypatch.setattr(fidelity, "describe", dict)
    monkeypatch.setattr(fidelity, "count", count)
    monkeypatch.setattr(fidelity, "observe", observe)
    return counted


def test_what_is_counted_is_kept_whatever_fails(programs: list[str], tmp_path: Path) -> None:
    raw = fidelity.measure(options(tmp_path))
    assert programs == list(NAMES)
    assert [program["name"] for program in raw["programs"]] == ["rodinia/c"]
    assert raw["programs"][0]["command"] == "c 5"
    assert sorted(raw["failed"]) == ["rodinia/a: no counters", "rodinia/b: no profiles"]
    assert json.loads((tmp_path / "raw.json").read_text()) == raw


def test_no_program_is_begun_when_the_time_is_used_up(programs: list[str], tmp_path: Path) -> None:
    raw = fidelity.measure(options(tmp_path, budget=1e-9))
    assert programs == raw["programs"] == []
    assert [text.split(":")[0] for text in raw["failed"]] == list(NAMES)


def test_subjects_stand_in_the_order_asked_for() -> None:
    position = subjects._position
    assert position("rodinia/nw", ["rodinia/nw", "rodinia"]) == 0
    assert position("rodinia/bfs", ["rodinia/nw", "rodinia"]) == 1
    assert position("xsbench/XSBench", ["rodinia/nw", "rodinia"]) == 2


def result(commit: str, failed: list[str], **rows: dict[str, list[float]]) -> dict[str, Any]:
    """A result of the overhead; rows are seconds by way."""
    return {
        "machine": {"commit": commit},
        "seconds": 1.0,
        "failed": failed,
        "programs": [
            {"name": name, "seconds": seconds, "failures": {}, "seen": dict.fromkeys(seconds, 1)}
            for name, seconds in rows.items()
        ],
    }


def test_results_name_commands_without_folders_of_the_machine() -> None:
    command = ["/usr/bin/python3", str(subjects.OPERATORS), "--size", "small"]
    assert subjects.shown(command) == "python3 benchmarks/operators.py --size small"


def test_times_of_one_commit_are_put_together_and_others_named() -> None:
    late = [
        result("new", ["b: not begun"], a={"plain": [1.0], "gpu": [3.0]}),
        result("new", [], a={"plain": [2.0, 3.0], "host": [5.0]}),
    ]
    old = result("old", ["c: not begun"], a={"plain": [9.0], "gpu": [9.0]}, b={"plain": [1.0], "gpu": [2.0]})
    head, rows, failed = overhead.together([old, *late])
    by_name = {row["name"]: row for row in rows}
    assert head == {"machine": {"commit": "new"}, "seconds": 3.0}
    assert by_name["a"]["seconds"] == {"plain": [1.0, 2.0, 3.0], "gpu": [3.0], "host": [5.0]}
    assert by_name["a"]["ratio"] == {"gpu": 1.5, "host": 2.5}
    assert "commit" not in by_name["a"]
    assert by_name["b"]["commit"] == "old"
    assert [str(error) for error in failed] == ["c: not begun"]


def test_a_run_of_the_host_engine_alone_does_not_push_out_a_whole_row() -> None:
    old = result("old", [], a={"plain": [1.0], "gpu": [2.0]})
    _, (row,), _ = overhead.together([old, result("new", [], a={"plain": [1.0], "host": [2.0]})])
    assert row["commit"] == "old"
    assert row["ratio"] == {"gpu": 2.0}


def test_what_only_an_earlier_commit_ran_stays_with_its_commit() -> None:
    old = result("old", [], a={"plain": [1.0], "gpu": [3.0], "host": [2.0]})
    old["programs"][0]["failures"] = {"unselected": "more than 5 s"}
    _, (row,), _ = overhead.together([old, result("new", [], a={"plain": [4.0], "gpu": [6.0]})])
    assert row["ratio"] == {"gpu": 1.5}
    assert row["earlier"]["host"] == {"commit": "old", "seconds": [2.0], "ratio": 2.0}
    assert row["earlier"]["unselected"] == {"commit": "old", "failure": "more than 5 s"}
    assert overhead.summary([row])["host"] == {"programs": 1, "median": 2.0, "most": 2.0}
    # Taken together once more, nothing is lost; measured anew, it is not needed any more.
    newest = result("newest", [], a={"plain": [1.0], "gpu": [1.0], "host": [5.0]})
    _, (row,), _ = overhead.together([old, result("new", [], a={"plain": [4.0], "gpu": [6.0]}), newest])
    assert row["ratio"] == {"gpu": 1.0, "host": 5.0}
    assert set(row["earlier"]) == {"unselected"}
