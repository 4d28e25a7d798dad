"""What block barriers order, as the GPU engine follows it: the host engine's numbers, and its findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from harness import compare, session

from cuvein.findings import Analysis
from cuvein.graph import Graph
from cuvein.profile import violations

if TYPE_CHECKING:
    from pathlib import Path

    from cuvein.profile import LaunchProfile
    from cuvein.profile.model import Barrier

RUNS = 3

pytestmark = pytest.mark.timeout(300)

# Programs of which no schedule can change what their barriers order, and whether it can change their graphs.
PROGRAMS: list[tuple[tuple[str, ...], bool]] = [
    (("reduction", "16"), False),
    (("softmax", "8", "1024"), False),
    (("stencil", "64"), True),
    (("transpose", "64"), False),
    (("matmul", "256"), True),
    (("async_copy", "8", "8"), False),
    (("early_exit", "1000"), False),
    (("large_shared", "4"), False),
    (("spare_barrier", "8"), False),
    (("spare_barrier", "3000"), False),
]


def profiles(
    program: tuple[str, ...], programs: dict[str, str], folder: Path, engine: str, *options: str
) -> list[LaunchProfile]:
    run = session.profile(folder, [programs[program[0]], *program[1:]], *options, engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    for profile in run.profiles:
        assert profile.engine == engine, run.process.summary.host_engine
        assert profile.incomplete is None
        assert violations(profile) == []
    return run.profiles


def barriers(profile: LaunchProfile) -> list[Barrier]:
    return list(profile.barriers or ())


@pytest.mark.parametrize(("program", "varies"), PROGRAMS, ids=[" ".join(program) for program, _ in PROGRAMS])
def test_engines_credit_barriers_with_the_same_bytes(
    program: tuple[str, ...], varies: bool, programs: dict[str, str], tmp_path: Path
) -> None:
    expected = profiles(program, programs, tmp_path / "host", "host")
    assert any(barrier.ordered_bytes for profile in expected for barrier in barriers(profile))
    for run in range(RUNS):
        found = profiles(program, programs, tmp_path / f"gpu-{run}", "gpu", "--barrier-order", "on")
        assert [barriers(profile) for profile in found] == [barriers(profile) for profile in expected]
        if not varies:
            for ours, theirs in zip(found, expected, strict=True):
                assert compare.differences(ours, theirs) == []


@pytest.mark.parametrize("option", ["on", "off"])
def test_a_spare_barrier_is_found_where_order_is_followed(
    option: str, programs: dict[str, str], tmp_path: Path
) -> None:
    blocks = 8
    (profile,) = profiles(
        ("spare_barrier", str(blocks)), programs, tmp_path / "out", "gpu", "--barrier-order", option
    )
    analysis = Analysis()
    analysis.add(Graph(profile))
    found = [each for each in analysis.report().findings if each.pattern == "removable-barrier"]
    needed, spare = barriers(profile)
    if option == "off":
        assert (needed.ordered_bytes, spare.ordered_bytes, found) == (None, None, [])
        return
    assert (needed.ordered_bytes, spare.ordered_bytes) == (blocks * 2 * 4 * 128, 0)
    (finding,) = found
    assert finding.places[0].pc == spare.pc


def test_merged_launches_add_up_what_barriers_order(programs: dict[str, str], tmp_path: Path) -> None:
    options = ("--barrier-order", "on", "--merge-launches")
    expected = profiles(("stencil", "64"), programs, tmp_path / "host", "host", "--merge-launches")
    found = profiles(("stencil", "64"), programs, tmp_path / "gpu", "gpu", *options)
    assert [barriers(profile) for profile in found] == [barriers(profile) for profile in expected]
