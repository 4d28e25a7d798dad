"""Address patterns that profilers have got wrong, each in a kernel of its own with the right answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness import cases, lines, planted, session

from cuvein.profile import violations

if TYPE_CHECKING:
    from harness.examples import Expected

KERNELS = Path(__file__).parent / "kernels"

pytestmark = pytest.mark.timeout(180)

CASES: list[tuple[str, list[str], Expected]] = [
    ("bank_stride", [], cases.bank_stride()),
    ("copy_stride", ["1"], cases.copy_stride(1)),
    ("copy_stride", ["2"], cases.copy_stride(2)),
    ("copy_stride", ["32"], cases.copy_stride(32)),
    ("accumulate", ["8"], cases.accumulate(8)),
    ("missing_barrier", ["8"], {**cases.publish(racy=False), **cases.publish(racy=True), **cases.tiles(8)}),
    ("late_commit", [], cases.late_commit()),
    ("large_shared", ["4"], cases.large_shared(4)),
    ("own_slot", ["8"], cases.own_slot(8)),
    ("mixed_widths", [], cases.mixed_widths()),
    ("two_regions", [], cases.two_regions()),
    ("wide_broadcast", [], cases.wide_broadcast()),
    ("unused_word", [], cases.unused_word()),
    ("local_array", ["4"], cases.local_array(4)),
    ("load_matrix", [], cases.load_matrix()),
    ("zero_fill", [], cases.zero_fill()),
    ("cluster_neighbours", ["6"], cases.cluster_neighbours(6)),
    ("early_exit", ["100000"], cases.early_exit(100000)),
    ("many_blocks", ["22000000"], cases.many_blocks(22_000_000)),
]


@pytest.fixture(scope="module")
def missing_barrier(
    programs: dict[str, str], engine: str, tmp_path_factory: pytest.TempPathFactory
) -> session.Session:
    return session.profile(tmp_path_factory.mktemp("race"), [programs["missing_barrier"], "8"], engine=engine)


@pytest.mark.parametrize("case", CASES, ids=[" ".join([name, *words]) for name, words, _ in CASES])
def test_case(
    case: tuple[str, list[str], Expected], programs: dict[str, str], engine: str, tmp_path: Path
) -> None:
    program, arguments, expected = case
    run = session.profile(tmp_path, [programs[program], *arguments], engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    for kernel, accesses in expected.items():
        profile = run.kernel(kernel)
        table = lines.table(run.process.module(profile), KERNELS / f"{program}.cu")
        assert profile.incomplete is None
        assert violations(profile) == []
        assert planted.differences(profile, table, accesses) == []


def test_bank_conflicts_cost_six_wavefronts_over_the_launch(
    programs: dict[str, str], engine: str, tmp_path: Path
) -> None:
    profile = session.profile(tmp_path, [programs["bank_stride"]], engine=engine).kernel("bank_stride")
    spent = sum(value * count for node in profile.nodes for value, count in node.wavefronts)
    ideal = sum(value * count for node in profile.nodes for value, count in node.ideal_wavefronts)
    assert spent - ideal == 6


def test_tile_loop_without_trailing_barrier_races_on_every_word(missing_barrier: session.Session) -> None:
    """Read and next write of a word come in either order; in both there is one unordered edge."""
    profile = missing_barrier.kernel("tiles_racy")
    assert violations(profile) == []
    table = lines.table(missing_barrier.process.module(profile), KERNELS / "missing_barrier.cu")
    seen = planted.observe(profile, table)
    assert planted.unordered(seen, "write", "neighbour") == 512 * 7
    assert seen["neighbour", "shared", "read"].bytes == 512 * 8


def test_tile_loop_with_trailing_barrier_is_ordered(missing_barrier: session.Session) -> None:
    profile = missing_barrier.kernel("tiles")
    assert {edge.unordered for edge in profile.edges if edge.label == "block"} == {0}


def test_two_regions_share_the_bytes(programs: dict[str, str], engine: str, tmp_path: Path) -> None:
    profile = session.profile(tmp_path, [programs["two_regions"]], engine=engine).kernel("two_regions")
    for node in profile.nodes:
        if node.type == "read":
            assert sorted(part.bytes for part in node.allocations) == [64, 64]
            assert None not in {part.allocation for part in node.allocations}


def test_state_does_not_leak_between_launches_or_allocations(
    programs: dict[str, str], engine: str, tmp_path: Path
) -> None:
    run = session.profile(tmp_path, [programs["reused_address"]], engine=engine)
    assert (run.outcome.status, run.outcome.stdout) == (0, b"ok\n"), str(run.outcome)
    *launches, heap = run.profiles
    assert len(launches) == 3
    for profile in launches:
        table = lines.table(run.process.module(profile), KERNELS / "reused_address.cu")
        assert violations(profile) == []
        assert planted.differences(profile, table, cases.reused_address()) == []
    table = lines.table(run.process.module(heap), KERNELS / "reused_address.cu")
    seen = planted.observe(heap, table)
    # The allocator's own accesses may be seen or not; what the program reads must be new to it, unless the
    # allocator itself touched the block in between.
    read = seen["read", "global", "read"]
    assert read.bytes == 64
    assert not [key for key in read.labels if key[1] == "write"]
