"""Launches that overlap, wait for each other, come in graphs, by the thousand, or are killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from harness import cases, lines, planted, session

from cuvein.profile import find, read, violations

KERNELS = Path(__file__).parent / "kernels"

pytestmark = pytest.mark.timeout(240)


def faults(run: session.Session, source: str, accesses: list[planted.Access], name: str = "") -> list[str]:
    found = []
    for profile in run.profiles:
        if name and profile.launch.kernel.name.split("(")[0] != name:
            continue
        found += violations(profile)
        if profile.incomplete:
            found.append(profile.incomplete)
        table = lines.table(run.process.module(profile), KERNELS / f"{source}.cu")
        found += planted.differences(profile, table, accesses)
    return found


@pytest.mark.parametrize("streams", [2, 8, 12])
def test_kernels_at_once_on_the_same_words(
    streams: int, engine: str, programs: dict[str, str], tmp_path: Path
) -> None:
    run = session.profile(tmp_path, [programs["overlap"], str(streams)], engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    assert len(run.profiles) == streams
    for profile in run.profiles:
        table = lines.table(run.process.module(profile), KERNELS / "overlap.cu")
        assert profile.incomplete is None
        assert violations(profile) == []
        seen = planted.differences(profile, table, cases.visit(100)["visit"])
        assert [fault for fault in seen if not fault.startswith(("arrive ", "wait "))] == []
    if engine == "gpu" and streams <= 8:
        assert {profile.engine for profile in run.profiles} == {"gpu"}, run.process.summary.host_engine


def test_graph_with_branches(engine: str, programs: dict[str, str], tmp_path: Path) -> None:
    run = session.profile(tmp_path, [programs["graph_branches"], "5"], engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    assert len(run.profiles) == 20
    assert len({profile.launch.graph for profile in run.profiles}) == 20
    # Lines of local memory depend on the compiler; whatever it is, only one thread ever sees it.
    found = faults(run, "graph_branches", cases.graph_step())
    assert [fault for fault in found if " local " not in fault] == []
    labels = {
        edge.label
        for profile in run.profiles
        for edge in profile.edges
        if profile.nodes[edge.node].space == "local"
    }
    assert labels <= {"cold", "thread"}
    if engine == "gpu":  # those of the branch may meet the others
        assert sum(profile.engine == "gpu" for profile in run.profiles) >= 10, run.process.summary.host_engine


def test_graph_is_analysed_on_the_gpu(programs: dict[str, str], tmp_path: Path) -> None:
    run = session.profile(tmp_path, [programs["graph_replay"], "70"], engine="gpu")
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    assert len(run.profiles) == 140
    assert {profile.engine for profile in run.profiles} == {"gpu"}, run.process.summary.host_engine
    assert faults(run, "graph_replay", cases.increment("load", "store"), "add") == []
    assert faults(run, "graph_replay", cases.increment(), "twice") == []


def test_persistent_kernel_and_one_that_waits_for_it(
    engine: str, programs: dict[str, str], tmp_path: Path
) -> None:
    run = session.profile(tmp_path, [programs["persistent"], "2000"], engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    profile = run.kernel("work")
    table = lines.table(run.process.module(profile), KERNELS / "persistent.cu")
    assert profile.incomplete is None
    assert violations(profile) == []
    seen = planted.differences(profile, table, cases.persistent_work(2000))
    assert [fault for fault in seen if not fault.startswith(("fetch ", "mine "))] == []
    assert run.kernel("wait_for_last").incomplete is None


@pytest.mark.alone
def test_many_launches_take_no_more_memory(engine: str, programs: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "spent"
    run = session.profile(tmp_path / "out", [programs["many_launches"], str(file), "3000"], engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    assert len(run.profiles) == 3000
    assert {profile.engine for profile in run.profiles} == {engine}
    assert {tuple((edge.label, edge.bytes) for edge in profile.edges) for profile in run.profiles} == {
        (("cold", 128), ("thread", 128))
    }
    _, early, late = file.read_text().split()
    assert int(late) <= int(early) + 8  # MiB


@pytest.mark.parametrize(
    ("program", "asked", "engine"),
    [
        (("many_launches", "/dev/null", "10"), "auto", "host"),
        (("many_launches", "/dev/null", "10"), "gpu", "gpu"),
        (("accumulate", "3"), "auto", "gpu"),  # 16 warps
    ],
)
def test_the_host_engine_has_small_launches_where_the_choice_is_left_to_cuvein(
    program: tuple[str, ...], asked: str, engine: str, programs: dict[str, str], tmp_path: Path
) -> None:
    run = session.profile(tmp_path, [programs[program[0]], *program[1:]], engine=asked)
    assert run.outcome.status == 0, str(run.outcome)
    assert {profile.engine for profile in run.profiles} == {engine}
    assert {profile.incomplete for profile in run.profiles} == {None}
    assert run.process.summary.host_engine == []  # nothing to be told


def test_thousands_of_launches_may_be_open_at_a_time(
    engine: str, programs: dict[str, str], tmp_path: Path
) -> None:
    streams, count = 6, 400
    run = session.profile(tmp_path, [programs["open_launches"], str(streams), str(count)], engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    profiles = [profile for profile in run.profiles if profile.launch.kernel.name.startswith("increment")]
    assert len(profiles) == streams * count
    assert {profile.engine for profile in profiles} == {engine}, run.process.summary.host_engine
    assert {profile.incomplete for profile in profiles} == {None}
    assert {tuple((edge.label, edge.bytes) for edge in profile.edges) for profile in profiles} == {
        (("cold", 128), ("thread", 128))
    }
    assert run.kernel("hold").incomplete is None


@pytest.mark.parametrize("attempt", range(3))
def test_killed_at_any_moment_leaves_whole_profiles_only(
    attempt: int, engine: str, programs: dict[str, str], tmp_path: Path
) -> None:
    command = [*session.CUVEIN, "run", "--output", str(tmp_path / "out"), "--engine", engine, "--"]
    process = subprocess.Popen(
        [*command, programs["many_launches"], str(tmp_path / "spent"), "200000"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    written = tmp_path / "out"
    deadline = time.monotonic() + 60
    while not list(written.glob("process-*/launch-*.json")) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(random.Random(attempt).uniform(0, 0.5))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
    for folder in written.glob("process-*"):
        profiles = [read(path) for path in find(folder)]
        assert profiles
        for profile in profiles:
            assert profile.incomplete is None
            assert violations(profile) == []


def test_merged_launches_are_the_sum_of_them(engine: str, programs: dict[str, str], tmp_path: Path) -> None:
    command = [programs["reused_address"]]
    apart = session.profile(tmp_path / "apart", command, engine=engine)
    merged = session.profile(tmp_path / "merged", command, "--merge-launches", engine=engine)
    assert (merged.outcome.status, merged.outcome.stdout) == (0, b"ok\n"), str(merged.outcome)
    profile = merged.kernel("reused_address")
    parts = [part for part in apart.profiles if part.launch.kernel == profile.launch.kernel]
    assert (profile.launch.merged, len(parts), len(merged.profiles)) == (3, 3, 2)
    assert profile.launch.sequence == 1
    assert profile.incomplete is None
    assert violations(profile) == []
    for node in profile.nodes:
        same = [
            each for part in parts for each in part.nodes if (each.pc, each.space) == (node.pc, node.space)
        ]
        assert node.executions == sum(each.executions for each in same)
        assert node.bytes == sum(each.bytes for each in same)
    for edge in profile.edges:
        assert edge.bytes == sum(
            each.bytes
            for part in parts
            for each in part.edges
            if (each.node, each.origin, each.label) == (edge.node, edge.origin, edge.label)
        )


def test_thousands_of_launches_merge_into_one_profile(
    engine: str, programs: dict[str, str], tmp_path: Path
) -> None:
    command = [programs["many_launches"], str(tmp_path / "spent"), "5000"]
    run = session.profile(tmp_path / "out", command, "--merge-launches", engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    (profile,) = run.profiles
    assert profile.launch.merged == 5000
    assert {edge.label: edge.bytes for edge in profile.edges} == {"cold": 128 * 5000, "thread": 128 * 5000}
    assert violations(profile) == []
