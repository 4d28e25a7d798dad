"""Kernels that trap, fault or wait for each other: the program's own end comes through, and nothing hangs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness import lines, planted, session
from harness.examples import floats

from cuvein.profile import violations

if TYPE_CHECKING:
    from collections.abc import Callable

KERNELS = Path(__file__).parent / "kernels"

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("what", ["trap", "fault"])
def test_failing_kernel_leaves_error_status_and_finished_profiles(
    what: str, programs: dict[str, str], engine: str, plain: Callable[..., session.Outcome], tmp_path: Path
) -> None:
    without = plain(programs["faults"], what)
    assert without.status == 3, str(without)
    run = session.profile(tmp_path, [programs["faults"], what], engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (3, without.stdout), str(run.outcome)
    profile = run.kernel("in_order")
    assert profile.incomplete is None
    assert violations(profile) == []
    table = lines.table(run.process.module(profile), KERNELS / "faults.cu")
    assert planted.differences(profile, table, [floats("good", "write", {"cold": 4096}, 32)]) == []
    # The launch that died may have a profile, but none that claims to be whole.
    for other in run.profiles:
        assert other is profile or other.incomplete


@pytest.mark.parametrize("who", ["host", "stream"])
def test_kernel_that_waits_for_a_flag_finishes(
    who: str, programs: dict[str, str], engine: str, tmp_path: Path
) -> None:
    run = session.profile(tmp_path, [programs["handshake"], who], timeout=60, engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    profile = run.kernel("wait_for")
    assert profile.incomplete is None
    assert violations(profile) == []
    assert sum(node.bytes for node in profile.nodes if node.type == "write") == 4


def test_memory_of_a_kernel_that_waits_stays_bounded(
    programs: dict[str, str], engine: str, tmp_path: Path
) -> None:
    """A spinning kernel makes records without end; they are folded, not kept."""
    run = session.profile(tmp_path, [programs["handshake"], "host"], timeout=60, engine=engine)
    files = sum(path.stat().st_size for path in tmp_path.rglob("launch-*.json"))
    assert run.outcome.status == 0, str(run.outcome)
    assert files < 100_000
