"""Processes, contexts, streams, graphs, grid-wide barriers; arguments, output and status of the program."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness import cases, lines, planted, session
from harness.examples import floats, reduction

from cuvein.profile import violations

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.planted import Access

    from cuvein.profile import LaunchProfile

KERNELS = Path(__file__).parent / "kernels"
EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.timeout(180)


def faults(
    process: session.Process,
    profile: LaunchProfile,
    source: Path,
    accesses: list[Access],
    *,
    others: bool = False,
) -> list[str]:
    found = violations(profile)
    if profile.incomplete:
        found.append(profile.incomplete)
    table = lines.table(process.module(profile), source)
    return found + planted.differences(profile, table, accesses, others=others)


def name(profile: LaunchProfile) -> str:
    return profile.launch.kernel.name.split("(")[0]


def test_two_contexts(programs: dict[str, str], engine: str, tmp_path: Path) -> None:
    run = session.profile(tmp_path, [programs["contexts"]], engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    assert len(run.profiles) == 2
    for profile in run.profiles:
        accesses = [floats("write", "write", {"cold": 256}, 2)]
        assert faults(run.process, profile, KERNELS / "contexts.cu", accesses) == []
    assert len({profile.launch.context for profile in run.profiles}) == 2


def test_children_that_fork_and_exec(programs: dict[str, str], engine: str, tmp_path: Path) -> None:
    run = session.profile(tmp_path, [programs["children"], programs["reduction"], "4"], engine=engine)
    assert run.outcome.status == 0, str(run.outcome)
    assert sorted(run.outcome.stdout.splitlines()) == [b"ok", b"ok"]
    kernels = {name(profile): (process, profile) for process in run.processes for profile in process.profiles}
    assert set(kernels) == {"in_child", "in_parent", "reduction"}
    assert len({process.folder for process, _ in kernels.values()}) == 3
    for kernel, line in (("in_child", "child"), ("in_parent", "parent")):
        accesses = [floats(line, "write", {"cold": 128}, 1)]
        assert faults(*kernels[kernel], KERNELS / "children.cu", accesses) == []
    assert faults(*kernels["reduction"], EXAMPLES / "reduction.cu", reduction(4)["reduction"]) == []


def test_shell_that_starts_programs(programs: dict[str, str], engine: str, tmp_path: Path) -> None:
    script = f"'{programs['labels']}' 4 && '{programs['reduction']}' 4; exit 7"
    run = session.profile(tmp_path, ["sh", "-c", script], engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (7, b"ok\nok\n"), str(run.outcome)
    assert sorted(name(profile) for profile in run.profiles) == ["labels", "reduction"]


def test_streams_at_once(programs: dict[str, str], engine: str, tmp_path: Path) -> None:
    run = session.profile(tmp_path, [programs["streams"], "5"], engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    assert len(run.profiles) == 20
    for profile in run.profiles:
        assert faults(run.process, profile, KERNELS / "streams.cu", cases.increment()) == []
    assert len({profile.launch.stream for profile in run.profiles}) == 4
    assert len({profile.launch.sequence for profile in run.profiles}) == 20


def test_graph_capture_and_replay(programs: dict[str, str], engine: str, tmp_path: Path) -> None:
    run = session.profile(tmp_path, [programs["graph_replay"], "3"], engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    assert sorted(name(profile) for profile in run.profiles) == ["add"] * 3 + ["twice"] * 3
    for profile in run.profiles:
        accesses = cases.increment("load", "store") if name(profile) == "add" else cases.increment()
        assert faults(run.process, profile, KERNELS / "graph_replay.cu", accesses) == []
        assert profile.launch.graph is not None
    assert len({profile.launch.graph for profile in run.profiles}) == 6


def test_cooperative_launch(programs: dict[str, str], engine: str, tmp_path: Path) -> None:
    run = session.profile(tmp_path, [programs["cooperative"], "16"], engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    accesses = cases.cooperative(16)["cooperative"]
    # The barrier itself is accesses too, of lines in the header.
    assert (
        faults(run.process, run.kernel("cooperative"), KERNELS / "cooperative.cu", accesses, others=True)
        == []
    )


def test_arguments_and_status_are_passed_on(programs: dict[str, str], engine: str, tmp_path: Path) -> None:
    words = ["with spaces", 'a "quote"', "it's", "$HOME", "*", "", "--output", "-x", "back\\slash", "ü"]
    run = session.profile(tmp_path, [programs["echo"], "42", "0", *words], engine=engine)
    assert run.outcome.status == 42, str(run.outcome)
    assert run.outcome.stdout.decode() == "".join(f"{word}\n" for word in words)
    assert b"to stderr\n" in run.outcome.stderr


def test_hundred_megabytes_of_output(
    programs: dict[str, str], engine: str, plain: Callable[..., session.Outcome], tmp_path: Path
) -> None:
    without = plain(programs["echo"], "0", "100")
    run = session.profile(tmp_path, [programs["echo"], "0", "100"], engine=engine)
    assert run.outcome.status == 0
    assert len(run.outcome.stdout) == 100_000_000
    assert hashlib.sha256(run.outcome.stdout).digest() == hashlib.sha256(without.stdout).digest()


def test_killed_program_keeps_its_signal_and_its_profiles(
    programs: dict[str, str], engine: str, tmp_path: Path
) -> None:
    run = session.profile(tmp_path, ["sh", "-c", f"'{programs['labels']}' 4; kill -TERM $$"], engine=engine)
    assert run.outcome.status in {128 + 15, -15}, str(run.outcome)
    assert [name(profile) for profile in run.profiles] == ["labels"]
