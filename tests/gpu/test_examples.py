"""The examples under ``cuvein run``: results unchanged, graphs as derived, traces that replay to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from harness import lines, planted, session
from harness.examples import ARGUMENTS, softmax

from cuvein.profile import violations

if TYPE_CHECKING:
    from collections.abc import Callable

    from cuvein.profile import LaunchProfile

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def profiled(
    programs: dict[str, str], engine: str, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], session.Session]:
    """Profiles an example at its test size, each only once; on the host engine with a trace beside it."""
    sessions: dict[str, session.Session] = {}

    def get(example: str) -> session.Session:
        if example not in sessions:
            folder = tmp_path_factory.mktemp("example")
            arguments = ARGUMENTS[example][0]
            trace = ("--trace", str(folder / "trace.cvt")) if engine == "host" else ()
            command = [programs[source(example)], *arguments]
            sessions[example] = session.profile(folder / "profiles", command, *trace, engine=engine)
        return sessions[example]

    return get


def source(example: str) -> str:
    """The program of an example; what follows in its name are flags."""
    return example.partition(" ")[0]


def table(example: str, run: session.Session, profile: LaunchProfile) -> planted.Lines:
    return lines.table(run.process.module(profile), EXAMPLES / f"{source(example)}.cu")


def graph(profile: LaunchProfile) -> bytes:
    """What must be equal however a launch was analysed."""
    return msgspec.json.encode((profile.coverage, profile.nodes, profile.edges))


@pytest.mark.parametrize("example", ARGUMENTS)
def test_result_is_unchanged(
    example: str,
    programs: dict[str, str],
    profiled: Callable[[str], session.Session],
    plain: Callable[..., session.Outcome],
) -> None:
    without = plain(programs[source(example)], *ARGUMENTS[example][0])
    assert (without.status, without.stdout) == (0, b"ok\n"), str(without)
    outcome = profiled(example).outcome
    assert (outcome.status, outcome.stdout) == (0, b"ok\n"), str(outcome)


@pytest.mark.parametrize("example", ARGUMENTS)
def test_graph_is_as_derived(example: str, engine: str, profiled: Callable[[str], session.Session]) -> None:
    run = profiled(example)
    expected = ARGUMENTS[example][1]()
    assert len(run.profiles) == len(expected), str(run.outcome)
    for kernel, accesses in expected.items():
        profile = run.kernel(kernel)
        assert profile.incomplete is None
        assert profile.engine == engine, run.process.summary.host_engine
        assert violations(profile) == []
        assert planted.differences(profile, table(example, run, profile), accesses) == []


@pytest.mark.parametrize("example", ARGUMENTS)
def test_trace_replays_to_the_graph_of_the_live_run(
    example: str, engine: str, profiled: Callable[[str], session.Session], tmp_path: Path
) -> None:
    if engine == "gpu":
        pytest.skip("the GPU engine makes no records for a trace")
    run = profiled(example)
    live = [graph(profile) for profile in run.profiles]
    assert live, str(run.outcome)
    for workers in ("1", "2", "7"):
        trace = run.folder.parent / "trace.cvt"
        replayed = session.analyze(tmp_path / workers, trace, "--workers", workers)
        assert replayed.outcome.status == 0, str(replayed.outcome)
        assert [graph(profile) for profile in replayed.profiles] == live


def test_live_run_with_many_workers_gives_the_same_labels(programs: dict[str, str], tmp_path: Path) -> None:
    for workers in ("1", "7"):
        run = session.profile(tmp_path / workers, [programs["softmax"], "8", "1024"], "--workers", workers)
        assert run.outcome.status == 0, str(run.outcome)
        profile = run.kernel("softmax")
        accesses = softmax(8, 1024)["softmax"]
        assert planted.differences(profile, table("softmax", run, profile), accesses) == []


def test_racy_softmax_has_unordered_edges(programs: dict[str, str], engine: str, tmp_path: Path) -> None:
    rows, warps = 8, 8
    command = [programs["softmax"], str(rows), "1024", "--racy"]
    run = session.profile(tmp_path, command, engine=engine)
    assert run.outcome.status == 0, str(run.outcome)
    profile = run.kernel("softmax_racy")
    assert violations(profile) == []
    seen = planted.observe(profile, table("softmax", run, profile))
    unordered = planted.unordered(seen, "sum_store", "greatest_load")
    assert 4 * rows * warps <= unordered <= 8 * rows * warps
    private = [
        access
        for access in softmax(rows, 1024)["softmax"]
        if access.line in {"load", "keep", "again", "exponential", "last", "store"}
    ]
    faults = planted.differences(profile, table("softmax", run, profile), private)
    assert [fault for fault in faults if "not expected" not in fault] == []
