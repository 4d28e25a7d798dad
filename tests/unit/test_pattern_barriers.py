"""Removable barriers: planted kernels as access streams, what must be reported and what must not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from cuvein.findings import Analysis
from cuvein.graph import Graph
from cuvein.patterns import Effect, Severity
from cuvein.profile import violations
from cuvein.profile.model import Barrier, NotAnalysed
from cuvein.report.by_finding import FindingReport
from cuvein.report.findings_words import instruction
from cuvein.vocabulary import Instruction, RecordFlag, RecordKind, Space
from reference.engine import profiles
from reference.streams import Warp, launch
from unit.profiles.maker import Maker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cuvein.patterns import Finding
    from cuvein.profile import LaunchProfile
    from reference.records import Record

WARPS = 4
SHARED = {"space": Space.SHARED}
GLOBAL = 0x10000
A, B, C = 0x100, 0x200, 0x300
ALL = [Warp(0, number) for number in range(WARPS)]


def profile_of(records: Sequence[Record], blocks: int = 1) -> LaunchProfile:
    shape = launch(grid=(blocks, 1, 1), block=(32 * WARPS, 1, 1))
    records = [*records, Warp().other(RecordKind.LAUNCH_END)]
    profile = profiles([shape], records, workers=2)[1]
    assert violations(profile) == []
    return profile


def removable(*found: LaunchProfile) -> list[Finding]:
    analysis = Analysis()
    for profile in found:
        analysis.add(Graph(profile))
    return [each for each in analysis.report().findings if each.pattern == "removable-barrier"]


def removable_at(records: Sequence[Record], blocks: int = 1) -> list[int]:
    return sorted(finding.places[0].pc for finding in removable(profile_of(records, blocks)))


def ordered(records: Sequence[Record]) -> dict[int, int | None]:
    return {barrier.pc: barrier.ordered_bytes for barrier in profile_of(records).barriers or []}


def barrier(pc: int) -> list[Record]:
    return [warp.barrier(pc) for warp in ALL]


def own(number: int):
    return lambda lane: 4 * (32 * number + lane)


def next_warp(number: int):
    return own((number + 1) % WARPS)


def write(pc: int = 0x10, where=own, **space) -> list[Record]:
    return [warp.write(pc, where(number), **(space or SHARED)) for number, warp in enumerate(ALL)]


def read(pc: int = 0x20, where=next_warp, **space) -> list[Record]:
    return [warp.read(pc, where(number), **(space or SHARED)) for number, warp in enumerate(ALL)]


def test_a_barrier_that_orders_a_write_before_reads():
    records = [*write(), *barrier(A), *read()]
    assert ordered(records) == {A: WARPS * 128}
    assert removable_at(records) == []


def test_a_needless_barrier_as_in_backprop():
    """Each thread keeps to its own slot up to the first barrier; only the second one orders anything."""
    records = [*write(0x10), *barrier(A), *read(0x20, own), *write(0x30), *barrier(B), *read(0x40)]
    (finding,) = removable(profile_of(records))
    (place,) = finding.places
    assert (place.pc, place.space, place.type) == (A, "barrier", "block")
    assert instruction(place) == "block barrier"
    assert (finding.effect, finding.severity) == (Effect.REMOVES, Severity.LOW)
    assert finding.evidence == {"executions": WARPS, "barrier_executions": 2 * WARPS, "ordered_bytes": 0}


def test_of_two_barriers_in_a_row_one_is_removable():
    records = [*write(), *barrier(A), *barrier(B), *read()]
    assert ordered(records) == {A: 0, B: WARPS * 128}
    assert removable_at(records) == [A]


def test_a_last_barrier_before_the_end():
    assert removable_at([*write(), *barrier(A), *read(), *barrier(B)]) == [B]


def test_a_read_by_the_writer_itself_hides_nothing():
    records = [*write(), *read(0x18, own), *barrier(A), *read()]
    assert removable_at(records) == []


def test_a_read_by_the_later_writer_hides_no_other_reader():
    """The last that read a word before the barrier is the thread that writes it after the barrier."""
    records = [*barrier(C), *read(0x10, next_warp), *read(0x18, own), *barrier(A), *write(0x20)]
    assert removable_at(records) == [C]


def test_a_credit_forgets_no_read_since_the_barrier():
    """B orders the read by the writer itself before the write by the other reader."""
    records = [*write(0x10), *barrier(A), *read(0x18, own), *read(0x20), *barrier(B), *write(0x30, next_warp)]
    assert removable_at(records) == []


def test_a_credit_forgets_no_write_since_the_barrier():
    """B orders the second write, which the lane above reads in step, before the read by another warp."""
    shifted = [warp.read(0x20, lambda lane, n=n: own(n)(lane ^ 1), **SHARED) for n, warp in enumerate(ALL)]
    records = [*write(0x10), *barrier(A), *write(0x18), *shifted, *barrier(B), *read(0x30)]
    assert B not in removable_at(records)


def test_a_broadcast_whose_first_reader_is_the_writer():
    """Lane 0 writes a word that its own warp reads: the barrier orders lanes 1 to 31 after it."""
    records = [ALL[0].write(0x10, {0: 0}, **SHARED), *barrier(A), ALL[0].read(0x20, lambda _: 0, **SHARED)]
    assert ordered(records) == {A: 4}
    assert removable_at(records) == []


def test_readers_that_come_two_barriers_later():
    """The read between hides the write from the late readers, but the first barrier is credited with it."""
    records = [*write(), *barrier(A), *read(0x20), *barrier(B), *read(0x30)]
    assert ordered(records) == {A: WARPS * 128, B: 0}
    assert removable_at(records) == [B]


def test_a_reduction_tree_needs_all_its_barriers():
    records = [*write(0x10), *barrier(A)]
    for step in (64, 32, 16, 8, 4, 2, 1):
        for number, warp in enumerate(ALL):
            lanes = [lane for lane in range(32) if 32 * number + lane < step]
            if lanes:
                start = 128 * number
                records.append(warp.read(0x20, {lane: start + 4 * (lane + step) for lane in lanes}, **SHARED))
                records.append(warp.read(0x30, {lane: start + 4 * lane for lane in lanes}, **SHARED))
                records.append(warp.write(0x40, {lane: start + 4 * lane for lane in lanes}, **SHARED))
        records += barrier(B)
    records += [warp.read(0x50, lambda _: 0, **SHARED) for warp in ALL]
    assert removable_at(records) == []


def tiles(buffers: int, *, trailing: bool) -> list[Record]:
    """A tile loop over so many buffers, with a barrier behind the store and maybe one behind the load."""
    records = []
    for turn in range(6):
        shift = turn % buffers * 128 * WARPS
        records += write(0x10, lambda number, shift=shift: lambda lane: shift + own(number)(lane))
        records += barrier(A)
        records += read(0x20, lambda number, shift=shift: lambda lane: shift + next_warp(number)(lane))
        if trailing:
            records += barrier(B)
    return records


def test_a_tile_loop_needs_its_trailing_barrier():
    assert removable_at(tiles(1, trailing=True)) == []


def test_double_buffering_needs_one_barrier_a_turn():
    """With two, each is the last one between some pair, so neither is reported."""
    assert removable_at(tiles(2, trailing=False)) == []
    assert removable_at(tiles(2, trailing=True)) == []


@pytest.mark.parametrize("other_warp", [True, False])
def test_global_memory_counts_too(other_warp):
    where = next_warp if other_warp else own
    elsewhere = lambda number: lambda lane: GLOBAL + where(number)(lane)  # noqa: E731
    start = lambda number: lambda lane: GLOBAL + own(number)(lane)  # noqa: E731
    records = [*write(0x10, start, space=Space.GLOBAL), *barrier(A)]
    records += read(0x20, elsewhere, space=Space.GLOBAL)
    assert removable_at(records) == ([] if other_warp else [A])


def test_a_barrier_between_atomics_stays():
    """Their order may matter: a maximum before a sum."""
    atomics = [warp.atomic(0x10, lambda _: 0, **SHARED) for warp in ALL]
    assert removable_at([*atomics, *barrier(A), *atomics]) == []


def test_asynchronous_copies_count_as_writes():
    copies = [
        warp.write(0x11, own(number), flags=RecordFlag.ASYNC, **SHARED) for number, warp in enumerate(ALL)
    ]
    assert removable_at([*copies, *barrier(A), *read()]) == []


@pytest.mark.parametrize(
    "extra",
    [
        ALL[0].other(RecordKind.MBARRIER, 0x90),
        ALL[0].other(RecordKind.CLUSTER_WAIT, 0x90),
        ALL[0].not_analysed(0x90, Instruction.BULK_COPY),
        ALL[0].barrier(0x90, index=3, threads=64),
        ALL[0].barrier(0x90, index=3, wait=False),
    ],
    ids=["mbarrier", "cluster", "not-analysed", "some-warps", "arrive-only"],
)
def test_nothing_is_said_where_the_order_is_not_known(extra):
    records = [*write(), *barrier(A)]
    assert removable_at(records) == [A]
    assert removable_at([extra, *records]) == []


def test_a_barrier_that_warps_reach_at_two_places_is_not_judged():
    records = [warp.barrier(A if number else B) for number, warp in enumerate(ALL)]
    assert ordered(records) == {A: None, B: None}
    assert removable_at(records) == []


@pytest.mark.parametrize("atomic", [True, False])
def test_blocks_that_exchange_data_may_wait_for_one_another(atomic):
    """As a grid synchronisation does: atomics alone are a sum, a read of what another block did is not."""
    first, second = Warp(0, 0), Warp(1, 0)
    flag = {0: GLOBAL}
    exchange = second.atomic(0x80, flag) if atomic else second.read(0x80, flag)
    records = [*write(), *barrier(A), first.atomic(0x70, flag), exchange]
    assert removable_at(records, blocks=2) == ([A] if atomic else [])


def test_an_incomplete_profile_says_nothing():
    profile = profile_of([*write(), *barrier(A)])
    assert len(removable(profile)) == 1
    assert removable(msgspec.structs.replace(profile, incomplete="Records were lost.")) == []
    coverage = msgspec.structs.replace(profile.coverage, not_analysed=[NotAnalysed("wgmma", 1)])
    assert removable(msgspec.structs.replace(profile, coverage=coverage)) == []


def test_one_launch_that_needs_the_barrier_is_enough():
    idle, needs = profile_of([*write(), *barrier(A)]), profile_of([*write(), *barrier(A), *read()])
    (finding,) = removable(idle, idle)
    assert (finding.launches, finding.of_launches) == (2, 2)
    assert removable(idle, needs, idle) == []
    other_shape = msgspec.structs.replace(needs, launch=msgspec.structs.replace(needs.launch, grid=(2, 1, 1)))
    assert removable(idle, other_shape) == []


def test_an_engine_that_does_not_know_barriers_reports_none():
    profile = profile_of([*write(), *barrier(A)])
    assert removable(msgspec.structs.replace(profile, barriers=None)) == []


@pytest.mark.parametrize(("ordered_bytes", "found"), [(0, 1), (1, 0), (None, 0)])
def test_not_one_byte(ordered_bytes, found):
    maker = Maker()
    maker.node("write", "shared")
    maker.barriers = [Barrier(0, 0x100, "block", 16, ordered_bytes)]
    assert len(maker.findings("removable-barrier")) == found


@pytest.mark.parametrize(
    ("engine", "ordered_bytes", "said"),
    [
        ("gpu", (None, None), True),
        ("gpu", (None, 0), False),  # it was asked for, and a launch has named barriers
        ("gpu", (), False),
        ("host", (None,), False),
    ],
)
def test_the_report_says_how_to_get_what_was_not_followed(engine, ordered_bytes, said):
    made = []
    for each in ordered_bytes:
        maker = Maker()
        maker.node("write", "shared")
        maker.barriers = [Barrier(0, 0x100, "block", 16, each), Barrier(0, 0x200, "warp", 16)]
        made.append(msgspec.structs.replace(maker.profile(), engine=engine))
    text = " ".join(
        FindingReport().render(made or [msgspec.structs.replace(profile_of(write()), engine=engine)]).split()
    )
    assert ("Note: whether barriers could go is known where 'cuvein run --barrier-order on'" in text) is said
