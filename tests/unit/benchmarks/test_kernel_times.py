"""The benchmark of kernel times, with runs that were made up."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import kernel_times
from machine import session


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """Programs that tell the times given for a way, one after another."""
    told = {}

    def execute(command, limit=120, environment=None, cwd=None):
        way = "empty" if environment else "plain"
        return session.Outcome(0, told[way].pop(0).encode(), b"")

    def profile(folder, command, engine=None, timeout=0):
        outcome = session.Outcome(0, told["gpu"].pop(0).encode(), b"")
        return SimpleNamespace(outcome=outcome, profiles=[SimpleNamespace(engine=told["engine"])])

    monkeypatch.setattr(kernel_times.floor, "variables", lambda folder: {"CUVEIN_CONFIG": str(folder)})
    monkeypatch.setattr(session, "execute", execute)
    monkeypatch.setattr(session, "profile", profile)
    return told


def times(*milliseconds):
    lines = [f'{{"kernel": "k", "milliseconds": {value}}}' for value in milliseconds]
    return "\n".join([*lines, "ok"])


def test_the_mean_of_a_run_counts_and_the_best_round(runs):
    runs.update(
        plain=[times(1.0), times(0.5)],
        empty=[times(1.0, 3.0), times(4.0)],
        gpu=[times(9.0), times(2.0, 4.0)],
        engine="gpu",
    )
    (row,) = kernel_times.measure("labels", ["labels", "64"], 2, 9)
    assert row["milliseconds"] == {"plain": 0.5, "empty": 2.0, "gpu": 3.0}
    assert (row["kernel"], row["ratio"], row["arguments"]) == ("k", 1.5, ["64"])


def test_a_launch_left_to_the_host_engine_is_no_time_of_the_gpu_engine(runs):
    runs.update(plain=[times(1.0)], empty=[times(1.0)], gpu=[times(1.0)], engine="host")
    with pytest.raises(kernel_times.RunError, match="the host engine had a launch"):
        kernel_times.measure("labels", ["labels"], 1, 9)


def test_a_program_without_times_is_a_failure(runs):
    runs.update(plain=["ok"])
    with pytest.raises(kernel_times.RunError, match="told no times"):
        kernel_times.measure("labels", ["labels"], 1, 9)


def test_both_goals_are_judged():
    rows = [
        {"program": "microbenchmarks", "kernel": name, "ratio": ratio} for name, ratio in (("a", 1), ("b", 3))
    ]
    said = kernel_times.judge(rows)
    assert said[0] == "all, 2 kernels: geometric mean 1.73 (goal: 1.5), most 3.00 (goal: 2.2): MISSED"
    assert said[-1] == "MISSED: microbenchmarks b takes 3.00 times as long as empty."
