"""Hazards in shared memory that no edge shows, since other accesses to the bytes lie between the two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuvein.vocabulary import AccessType, RecordFlag, RecordKind, Space
from reference import engine
from reference.graph import Graph, graph_of
from reference.streams import Warp, launch

if TYPE_CHECKING:
    from reference.records import Record

SHARED = Space.SHARED
W0, W1, W2 = (Warp(warp=number) for number in range(3))
TYPES = list(AccessType)


def graph(*records: Record, warps: int = 3) -> Graph:
    shape = launch(block=(32 * warps, 1, 1))
    return graph_of(engine.profiles([shape], list(records), 1)[shape.sequence])


def read(warp: Warp, pc: int, lane: int = 0) -> Record:
    return warp.read(pc, {lane: 0}, space=SHARED)


def write(warp: Warp, pc: int, lane: int = 0) -> Record:
    return warp.write(pc, {lane: 0}, space=SHARED)


def atomic(warp: Warp, pc: int, lane: int = 0) -> Record:
    return warp.atomic(pc, {lane: 0}, space=SHARED)


@pytest.mark.parametrize(
    ("records", "hidden"),
    [
        ([write(W0, 1), read(W0, 2), read(W1, 3), read(W2, 3)], {(3, 1): 8}),
        ([read(W0, 1), read(W1, 2), write(W1, 3)], {(3, 1): 4}),
        ([write(W0, 1), atomic(W0, 2), atomic(W1, 3)], {(3, 1): 4}),
        ([atomic(W0, 1), read(W0, 2), read(W1, 3)], {(3, 1): 4}),
        ([read(W0, 1), atomic(W1, 2), atomic(W1, 2)], {(2, 1): 4}),
        # The edge from 3 to 2 shows a hazard of its own, with the read.
        ([write(W0, 1), read(W1, 2), write(W2, 3)], {(3, 1): 4}),
        # Reads of several lanes of the writer's warp are no better than its own.
        ([write(W0, 1), read(W0, 2, lane=5), read(W0, 2, lane=7), read(W1, 3)], {(3, 1): 4}),
        # The edge shows the same two instructions: once is enough.
        ([read(W0, 1), read(W1, 1), write(W2, 2)], {}),
        # The writer's own warp, atomics among themselves, reads only.
        ([write(W0, 1), read(W1, 2), read(W0, 3)], {}),
        ([atomic(W0, 1), atomic(W1, 2), atomic(W2, 3)], {}),
        ([read(W0, 1), read(W1, 2), read(W2, 3)], {}),
    ],
)
def test_what_is_hidden(records: list[Record], hidden: dict[tuple[int, int], int]) -> None:
    assert graph(*records).hidden() == hidden


def test_a_barrier_orders_what_is_hidden_too() -> None:
    barrier = [warp.barrier(9) for warp in (W0, W1, W2)]
    assert graph(write(W0, 1), read(W0, 2), *barrier, read(W1, 3)).hidden() == {}
    assert graph(write(W0, 1), *barrier, read(W0, 2), read(W1, 3)).hidden() == {}


def test_a_barrier_of_some_warps_does_not_order_the_others() -> None:
    barrier = [warp.barrier(9, index=1, threads=64) for warp in (W0, W1)]
    assert graph(write(W0, 1), *barrier, read(W1, 2), read(W2, 3)).hidden() == {(3, 1): 4}


@pytest.mark.parametrize(("waits_first", "hidden"), [(True, {}), (False, {(5, 1): 4})])
def test_a_copy_is_written_when_it_is_waited_for(
    waits_first: bool, hidden: dict[tuple[int, int], int]
) -> None:
    copy = W0.write(1, {0: 0}, space=SHARED, flags=RecordFlag.ASYNC)
    wait = W0.other(RecordKind.ASYNC_WAIT, 3, address=0)
    barrier = [warp.barrier(9) for warp in (W0, W1, W2)]
    between = [wait, *barrier] if waits_first else [*barrier, wait]
    records = [copy, W0.other(RecordKind.ASYNC_COMMIT, 2), *between, read(W0, 4), read(W1, 5)]
    assert graph(*records).hidden() == hidden


@pytest.mark.parametrize("size", [2, 4, 8, 16])
@pytest.mark.parametrize("again", [2, 4, 8, 16])
def test_whatever_the_accesses_sizes(size: int, again: int) -> None:
    """Warp 0 writes and reads 512 bytes, warp 1 reads them, each in pieces of its own."""

    def each(warp: Warp, pc: int, kind: AccessType, bytes_of_a_lane: int) -> list[Record]:
        step = 32 * bytes_of_a_lane
        return [
            warp.access(
                kind, pc, [at + bytes_of_a_lane * lane for lane in range(32)], bytes_of_a_lane, space=SHARED
            )
            for at in range(0, 512, step)
        ]

    records = [
        *each(W0, 1, AccessType.WRITE, size),
        *each(W0, 2, AccessType.READ, size),
        *each(W1, 3, AccessType.READ, again),
    ]
    assert graph(*records).hidden() == {(3, 1): 512}


def test_the_writers_of_one_access_may_be_several() -> None:
    """Four warps write eight words each of 128 bytes, of which warps 0 and 1 read all."""
    warps = [Warp(warp=number) for number in range(4)]
    records = [
        warp.write(1, {lane: 32 * number + 4 * lane for lane in range(8)}, space=SHARED)
        for number, warp in enumerate(warps)
    ]
    records += [
        warp.read(2 + number, lambda lane: 4 * lane, space=SHARED) for number, warp in enumerate(warps[:2])
    ]
    found = graph(*records, warps=4)
    assert found.edge(2, 1, "block").unordered == 3 * 32
    assert found.edge(3, 2, "block").unordered is None
    assert found.hidden() == {(3, 1): 3 * 32}


def test_each_block_has_its_own() -> None:
    shape = launch(grid=(2, 1, 1), block=(64, 1, 1))
    records = []
    for block in range(2):
        first, second = Warp(block, 0), Warp(block, 1)
        records += [write(first, 1), read(first, 2)]
        records += [second.barrier(8), first.barrier(8)] if block else []
        records.append(read(second, 3))
    found = engine.profiles([shape], records, 2)[shape.sequence]
    assert graph_of(found).hidden() == {(3, 1): 4}


@dataclass(frozen=True)
class Step:
    """An access by lane 0 of a warp, or a barrier of the whole block where there is no type."""

    warp: int
    type: AccessType | None


@settings(max_examples=1000, deadline=None)
@given(
    st.lists(
        st.builds(Step, st.integers(0, 2), st.sampled_from([None, *TYPES, *TYPES])), min_size=2, max_size=9
    )
)
def test_a_word_that_is_raced_for_is_never_silent(steps: list[Step]) -> None:
    """All pairs of accesses are looked at: what is told of is among them, and something is if any is."""
    records: list[Record] = []
    racing = set()
    since: list[tuple[int, Step]] = []  # the accesses since the last barrier
    for pc, step in enumerate(steps, 1):
        if step.type is None:
            records += [warp.barrier(100) for warp in (W0, W1, W2)]
            since = []
            continue
        records.append(Warp(warp=step.warp).access(step.type, pc, {0: 0}, space=SHARED))
        racing |= {
            (pc, earlier)
            for earlier, other in since
            if other.warp != step.warp and (other.type != step.type or step.type == AccessType.WRITE)
        }
        since.append((pc, step))
    found = graph(*records)
    told = {
        (key[0], origin[0]) for (key, origin, _), edge in found.edges.items() if origin and edge.unordered
    }
    assert told | set(found.hidden()) <= racing
    assert bool(told | set(found.hidden())) == bool(racing)
