"""How runs are compared by ``benchmarks/stability.py``, on the profiles of a recording."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

import golden
from cuvein.source import Locator, ModuleStore, TraceModules

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import stability

if TYPE_CHECKING:
    from cuvein.profile.model import Edge, LaunchProfile

PROGRAM = stability.Program("half_rows", "examples/half_rows.cu", ["16", "512"])


def run(engine: str, profile: LaunchProfile) -> stability.Run:
    outcome = stability.Run(engine, {}, {}, {})
    locator = Locator(ModuleStore(sources=[TraceModules(golden.trace_file("half_rows"))]))
    stability.add(outcome, "half_rows #1", profile, locator)
    return outcome


def moved(profile: LaunchProfile, byte_count: int, *, lost: int = 0) -> LaunchProfile:
    """Let bytes of the weights' `grid` edge become `block`."""

    def change(edge: Edge) -> Edge:
        by = {"grid": -byte_count, "block": byte_count - lost}.get(edge.label, 0)
        return msgspec.structs.replace(edge, bytes=edge.bytes + by)

    assert {"grid", "block"} <= {edge.label for edge in profile.edges}
    return msgspec.structs.replace(profile, edges=[change(edge) for edge in profile.edges])


@pytest.fixture(scope="module")
def profile() -> LaunchProfile:
    (found,) = golden.profiles("half_rows")
    return found


def test_distance_is_the_share_that_would_have_to_move() -> None:
    one = Counter({"cold": 60, "block": 40})
    assert stability.distance(one, Counter(one)) == 0
    assert stability.distance(one, Counter({"cold": 60, "block": 30, "grid": 10})) == pytest.approx(0.1)
    assert stability.distance(one, Counter({"thread": 100})) == 1


def test_equal_runs_are_identical(profile: LaunchProfile) -> None:
    row = stability.judge(PROGRAM, [run(engine, profile) for engine in ("host", "gpu", "host", "gpu")])
    assert row["spaces"]["max"] == row["nodes"]["max"] == 0
    assert row["spaces"]["identical"] == row["spaces"]["count"] == 1
    assert row["moving"] == row["faults"] == []
    assert row["reason"] is None


def test_bytes_that_change_their_label_are_seen_and_located(profile: LaunchProfile) -> None:
    runs = [run("host", profile), run("host", profile), run("gpu", moved(profile, 64))]
    row = stability.judge(PROGRAM, runs)
    total = sum(edge.bytes for edge in profile.edges)
    assert row["spaces"]["max"] == pytest.approx(64 / total)
    assert row["spaces"]["mean"] == pytest.approx(64 / total * 2 / 3)  # of three pairs two differ
    assert row["spaces"]["mean_within"] == 0
    assert row["spaces"]["mean_across"] == pytest.approx(64 / total)
    assert row["nodes"]["max"] > row["spaces"]["max"]
    (moving,) = row["moving"]
    assert moving["line"].startswith("half_rows.cu:")
    assert set(moving["shares"]) >= {"block", "grid"}
    assert row["reason"]
    assert row["faults"] == []


def test_bytes_that_are_lost_are_a_fault(profile: LaunchProfile) -> None:
    row = stability.judge(PROGRAM, [run("host", profile), run("gpu", moved(profile, 64, lost=4))])
    assert len(row["faults"]) == 1
    assert "bytes in two runs" in row["faults"][0]


def test_a_run_that_failed_is_a_fault(profile: LaunchProfile) -> None:
    failed = stability.Run("gpu", {}, {}, {}, "status 1")
    assert stability.judge(PROGRAM, [run("host", profile), failed])["faults"] == ["status 1"]


def test_goals_are_judged_over_all_programs(
    profile: LaunchProfile, capsys: pytest.CaptureFixture[str]
) -> None:
    row = stability.judge(PROGRAM, [run("host", profile), run("gpu", moved(profile, 64))])
    totals = stability.totals([row, row])
    assert totals["spaces"]["count"] == 2
    assert totals["spaces"]["mean"] == pytest.approx(row["spaces"]["mean"])
    assert not totals["nodes"]["goal_met"]
    stability.show({**totals, "programs": [row]})
    assert "MISSED" in capsys.readouterr().out
