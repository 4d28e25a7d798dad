"""Timing programs, here without a GPU: what counts, and what is said of what went wrong."""

from __future__ import annotations

import pytest

import overhead
from machine import session
from subjects import Subject


@pytest.fixture
def subject(tmp_path):
    return Subject("group/program", ["program", "1"], tmp_path)


@pytest.fixture
def run(monkeypatch):
    """Replace programs: each way takes the next of its times; an exception is raised."""

    def make(**times):
        left = {way: list(values) for way, values in times.items()}

        def run_once(subject, way, limit):
            value = left[way].pop(0)
            if isinstance(value, Exception):
                raise value
            return value, {"launches": 1, "accesses": 10, "left_to_host": {}}

        monkeypatch.setattr(overhead, "run_once", run_once)
        return left

    return make


def test_median_counts_and_slow_ways_run_every_other_time(subject, run):
    run(plain=[1.0, 3.0, 2.0], gpu=[3.0, 4.0, 99.0], host=[8.0, 10.0])
    row = overhead.measure(subject, ["plain", "gpu", "host"], 3, 60)
    assert row["seconds"] == {"plain": [1.0, 3.0, 2.0], "gpu": [3.0, 4.0, 99.0], "host": [8.0, 10.0]}
    assert row["ratio"] == {"gpu": 2.0, "host": 4.5}
    assert row["seen"]["gpu"]["launches"] == 1


def test_a_way_that_fails_is_not_tried_again_and_others_go_on(subject, run):
    left = run(plain=[1.0] * 3, host=[overhead.RunError("more than 60 s"), 1.0], gpu=[2.0, 2.0])
    row = overhead.measure(subject, ["plain", "gpu", "host"], 2, 60)
    assert row["failures"] == {"host": "more than 60 s"}
    assert left["host"] == [1.0]
    assert row["ratio"] == {"gpu": 2.0}
    assert "more than 60 s" in overhead.line(row, ["plain", "gpu", "host"])


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["false"], "status 1: it said nothing"),
        (["sh", "-c", "echo no input >&2; exit 3"], "status 3: no input"),
    ],
)
def test_a_program_that_fails_is_not_timed(tmp_path, command, sentence):
    with pytest.raises(overhead.RunError, match=sentence):
        overhead.run_once(Subject("group/program", command, tmp_path), "plain", 60)
    with pytest.raises(overhead.RunError, match=r"more than 0.2 s"):
        overhead.run_once(Subject("group/program", ["sleep", "9"], tmp_path), "plain", 0.2)
    assert overhead.run_once(Subject("group/program", ["true"], tmp_path), "plain", 60)[0] < 60


def test_nothing_profiled_is_right_where_nothing_is_selected(tmp_path, monkeypatch):
    outcome = session.Outcome(120, b"", b"cuvein: nothing profiled")
    made = session.Session(outcome, tmp_path)
    monkeypatch.setattr(overhead.session, "profile", lambda *_, **__: made)
    subject = Subject("group/program", ["program"], tmp_path)
    assert overhead.run_once(subject, "unselected", 60)[1]["launches"] == 0
    with pytest.raises(overhead.RunError, match="nothing profiled"):
        overhead.run_once(subject, "gpu", 60)


def test_goals_are_judged_by_the_gpu_engine():
    def row(name, ratio):
        return {"name": name, "ratio": ratio, "failures": {}}

    rows = [row("a", {"gpu": 1.2, "host": 50.0}), row("b", {"gpu": 1.4}), row("c", {"gpu": 4.5})]
    assert overhead.summary(rows)["gpu"] == {"programs": 3, "median": 1.4, "most": 4.5}
    said = overhead.judge(rows)
    assert said[0].startswith("GPU engine, 3 programs: median 1.40x (goal: 1.5x), most 4.50x")
    assert said[1:] == ["MISSED: c takes 4.50x with the GPU engine."]
