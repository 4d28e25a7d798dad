"""Planted kernels as access streams, through the host engine to findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cuvein.findings import Analysis
from cuvein.graph import Graph
from cuvein.profile import violations
from cuvein.vocabulary import RecordFlag, RecordKind, Space
from reference.engine import profiles
from reference.streams import Warp, launch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cuvein.patterns import Finding
    from reference.records import Record

WARPS = 4
SHARED = {"space": Space.SHARED}
GLOBAL = 0x10000


def graph_of(records: Sequence[Record], warps: int = WARPS, blocks: int = 1) -> Graph:
    """Analyse the records of one launch with two workers."""
    shape = launch(grid=(blocks, 1, 1), block=(32 * warps, 1, 1))
    profile = profiles([shape], records, workers=2)[1]
    assert violations(profile) == []
    return Graph(profile)


def findings_of(graph: Graph, pattern: str) -> list[Finding]:
    analysis = Analysis()
    analysis.add(graph)
    return [finding for finding in analysis.report().findings if finding.pattern == pattern]


def at(finding: Finding) -> list[int]:
    return [place.pc for place in finding.places]


# Softmax: values that each thread keeps to itself and a buffer that a block shares, in one shared allocation.

VALUES = 128  # the buffer takes the first 128 bytes
STORE_VALUE, LOAD_VALUE, STORE_AGAIN, LOAD_LAST = 0x860, 0x880, 0x890, 0xB00
STORE_MAX, LOAD_MAX, STORE_SUM, LOAD_SUM = 0x980, 0xA00, 0xA30, 0xA80


def softmax(*, barrier_between: bool) -> list[Record]:
    """Two reductions over one buffer: without the barrier the second overwrites what the first reads."""
    warps = [Warp(0, warp) for warp in range(WARPS)]
    records: list[Record] = []

    def own(warp: int):
        return lambda lane: VALUES + 4 * (32 * warp + lane)

    def everywhere(step) -> None:
        for number, warp in enumerate(warps):
            records.append(step(number, warp))

    def barrier(pc: int) -> None:
        everywhere(lambda _, warp: warp.barrier(pc))

    everywhere(lambda number, warp: warp.write(STORE_VALUE, own(number), **SHARED))
    everywhere(lambda number, warp: warp.write(STORE_MAX, {0: 4 * number}, **SHARED))
    barrier(0x990)
    everywhere(lambda _, warp: warp.read(LOAD_MAX, lambda lane: 4 * (lane % WARPS), **SHARED))
    if barrier_between:
        barrier(0xA10)
    everywhere(lambda number, warp: warp.read(LOAD_VALUE, own(number), **SHARED))
    everywhere(lambda number, warp: warp.write(STORE_AGAIN, own(number), **SHARED))
    everywhere(lambda number, warp: warp.write(STORE_SUM, {0: 4 * number}, **SHARED))
    barrier(0xA70)
    everywhere(lambda _, warp: warp.read(LOAD_SUM, lambda lane: 4 * (lane % WARPS), **SHARED))
    everywhere(lambda number, warp: warp.read(LOAD_LAST, own(number), **SHARED))
    everywhere(lambda _, warp: warp.exit())
    return records


@pytest.mark.parametrize("barrier_between", [True, False])
def test_softmax_buffers_are_two_closed_subgraphs_and_only_one_is_abuse(barrier_between):
    graph = graph_of(softmax(barrier_between=barrier_between))
    pcs = sorted(sorted(node.pc for node in subgraph.nodes) for subgraph in graph.closed_subgraphs)
    assert pcs == [
        sorted([STORE_VALUE, LOAD_VALUE, STORE_AGAIN, LOAD_LAST]),
        sorted([STORE_MAX, LOAD_MAX, STORE_SUM, LOAD_SUM]),
    ]
    (abuse,) = findings_of(graph, "shared-memory-abuse")
    assert sorted(at(abuse)) == pcs[0]
    assert abuse.removal.instructions == 4 * WARPS
    assert abuse.removal.bytes == 4 * WARPS * 128
    assert abuse.evidence["registers_a_thread"] == 1


def test_softmax_without_the_barrier_between_its_reductions_is_a_write_after_read_candidate():
    (race,) = findings_of(graph_of(softmax(barrier_between=False)), "race-candidate")
    assert race.variant == "WAR"
    assert race.scope == "block"
    assert at(race) == [STORE_SUM, LOAD_MAX]
    # The last reader of each word is a lane of warp 3, which is not ordered with its own lane 0 either.
    assert race.evidence["unordered_block_bytes"] == 4 * (WARPS - 1)
    assert race.evidence["unordered_warp_diff_inst_bytes"] == 4


def test_softmax_with_all_its_barriers_raises_no_alarm():
    assert findings_of(graph_of(softmax(barrier_between=True)), "race-candidate") == []


# Case 3: each thread does R times y[i] += g[r] on global memory.


@pytest.mark.parametrize("rounds", [2, 8])
def test_reload_loop(rounds):
    warp = Warp()
    records = []
    for turn in range(rounds):
        records += [
            warp.read(0x10, lambda lane: GLOBAL + 4 * lane),
            warp.read(0x20, lambda _, turn=turn: 2 * GLOBAL + 4 * turn),
            warp.write(0x30, lambda lane: GLOBAL + 4 * lane),
        ]
    graph = graph_of([*records, warp.exit()], warps=1)
    (finding,) = findings_of(graph, "redundant-read")
    assert at(finding) == [0x10]
    assert finding.variant == "RAW"
    assert finding.evidence["redundant_share"] == (rounds - 1) / rounds
    (factor,) = findings_of(graph, "broadcast")
    assert at(factor) == [0x20]
    assert factor.evidence["warp_same_inst_bytes"] == rounds * 31 * 4


# Case 4: shared words without a barrier, and a tile loop without its trailing barrier.


def words_read_by_all(*, barrier: bool) -> list[Record]:
    warps = [Warp(0, warp) for warp in range(WARPS)]
    records = [warps[0].write(0x10, {0: 0}, size=8, **SHARED)]
    if barrier:
        records += [warp.barrier(0x20) for warp in warps]
    # The writer's warp comes last: where it comes first, its own read hides the write from the others.
    records += [warp.read(0x30, lambda _: 0, size=8, **SHARED) for warp in reversed(warps)]
    return [*records, *(warp.exit() for warp in warps)]


def test_words_that_all_read_without_a_barrier():
    (race,) = findings_of(graph_of(words_read_by_all(barrier=False)), "race-candidate")
    assert (race.variant, at(race)) == ("RAW", [0x30, 0x10])


def test_words_that_all_read_after_a_barrier():
    assert findings_of(graph_of(words_read_by_all(barrier=True)), "race-candidate") == []


def tile_loop(*, trailing: bool) -> list[Record]:
    warps = [Warp(0, warp) for warp in range(WARPS)]
    records: list[Record] = []
    for _ in range(3):
        records += [
            warp.write(0x10, lambda lane, n=n: 4 * (32 * n + lane), **SHARED) for n, warp in enumerate(warps)
        ]
        records += [warp.barrier(0x20) for warp in warps]
        records += [
            warp.read(0x30, lambda lane, n=n: 4 * (32 * ((n + 1) % WARPS) + lane), **SHARED)
            for n, warp in enumerate(warps)
        ]
        if trailing:
            records += [warp.barrier(0x40) for warp in warps]
    return [*records, *(warp.exit() for warp in warps)]


def test_tile_loop_without_its_trailing_barrier():
    (race,) = findings_of(graph_of(tile_loop(trailing=False)), "race-candidate")
    assert (race.variant, race.scope, at(race)) == ("WAR", "block", [0x10, 0x30])
    assert race.evidence["unordered_bytes"] == 2 * WARPS * 128


def test_tile_loop_with_its_trailing_barrier():
    assert findings_of(graph_of(tile_loop(trailing=True)), "race-candidate") == []


# Correctly synchronised in other ways: no alarm.


def test_warp_synchronous_code_with_syncwarp():
    warp = Warp()
    records = []
    for step in (16, 8, 4, 2, 1):
        records += [
            warp.read(0x10, {lane: 4 * (lane + step) for lane in range(step)}, **SHARED),
            warp.sync(0x18),
            warp.write(0x20, {lane: 4 * lane for lane in range(step)}, **SHARED),
            warp.sync(0x28),
        ]
    start = warp.write(0x8, lambda lane: 4 * lane, **SHARED)
    graph = graph_of([start, warp.sync(0xC), *records, warp.exit()], warps=1)
    assert findings_of(graph, "race-candidate") == []


def test_warp_synchronous_code_that_forgot_syncwarp():
    warp = Warp()
    records = [
        warp.write(0x10, lambda lane: 4 * lane, **SHARED),
        warp.read(0x20, lambda lane: 4 * (lane ^ 1), **SHARED),
        warp.exit(),
    ]
    (race,) = findings_of(graph_of(records, warps=1), "race-candidate")
    assert (race.variant, race.scope) == ("RAW", "warp")


def test_named_barrier_of_two_warps():
    warps = [Warp(0, warp) for warp in range(WARPS)]
    records = [
        warps[0].write(0x10, lambda lane: 4 * lane, **SHARED),
        warps[0].barrier(0x20, index=1, threads=64),
        warps[1].barrier(0x20, index=1, threads=64),
        warps[1].read(0x30, lambda lane: 4 * lane, **SHARED),
        *(warp.exit() for warp in warps),
    ]
    assert findings_of(graph_of(records), "race-candidate") == []


def test_atomics_of_all_warps_on_one_word():
    """Case 5: contended, but no race."""
    warps = [Warp(0, warp) for warp in range(WARPS)]
    graph = graph_of(
        [*(warp.atomic(0x10, lambda _: GLOBAL) for warp in warps), *(warp.exit() for warp in warps)]
    )
    assert findings_of(graph, "race-candidate") == []
    (contended,) = findings_of(graph, "atomic-contention")
    assert contended.evidence["warp_same_inst_share"] == 31 / 32
    assert contended.evidence["distinct_addresses"] == 1


# Case 9: each lane writes a slot and reads it back; case 10: a byte in a word.


def test_own_slot():
    warp = Warp()
    records = [
        warp.write(0x10, lambda lane: 4 * lane, **SHARED),
        warp.read(0x20, lambda lane: 4 * lane, **SHARED),
        warp.exit(),
    ]
    graph = graph_of(records, warps=1)
    assert len(findings_of(graph, "shared-memory-abuse")) == 1
    assert findings_of(graph, "race-candidate") == []


def test_byte_store_in_a_word_that_is_read():
    warps = [Warp(0, 0), Warp(0, 1)]
    records = [
        warps[0].write(0x10, {0: GLOBAL + 1}, size=1),
        warps[1].read(0x20, {0: GLOBAL}, size=4),
        *(warp.exit() for warp in warps),
    ]
    graph = graph_of(records, warps=2)
    load = next(node for node in graph.nodes if node.type == "read")
    assert graph.weighted_out_degree(load, "block") == 1
    assert graph.weighted_out_degree(load, "cold") == 3
    (race,) = findings_of(graph, "race-candidate")
    assert race.evidence["unordered_bytes"] == 1


# Case 7 in small: block b touches slot b modulo 4.


def test_slots_shared_by_blocks():
    blocks = 64
    warps = [Warp(block, 0) for block in range(blocks)]
    records = [
        record
        for n, warp in enumerate(warps)
        for record in (warp.read(0x10, {0: GLOBAL + 4 * (n % 4)}), warp.exit())
    ]
    (finding,) = findings_of(graph_of(records, warps=1, blocks=blocks), "grid-dominant-reuse")
    assert finding.evidence["reuse_ratio_grid"] == 1
    assert finding.evidence["grid_bytes"] == 4 * (blocks - 4)


# Case 6: an asynchronous copy into shared memory that the copying threads read back.


def test_asynchronous_copy_shows_as_two_instructions():
    warp = Warp()
    records = [
        warp.read(0x10, lambda lane: GLOBAL + 16 * lane, size=16, flags=RecordFlag.ASYNC),
        warp.write(0x11, lambda lane: 16 * lane, size=16, flags=RecordFlag.ASYNC, **SHARED),
        warp.read(0x20, lambda lane: 16 * lane, size=16, **SHARED),
        warp.exit(),
    ]
    graph = graph_of(records, warps=1)
    assert [(node.pc, node.space, node.type, node.asynchronous) for node in graph.nodes] == [
        (0x10, "global", "read", True),
        (0x11, "shared", "write", True),
        (0x20, "shared", "read", False),
    ]
    (abuse,) = findings_of(graph, "shared-memory-abuse")
    assert "asynchronous copies" in abuse.caveat


def pipeline(
    *,
    shift: int = 0,
    pending: int = 0,
    commit_first: bool = True,
    wait_first: bool = True,
    mbarrier: bool = False,
) -> list[Record]:
    """Copy a tile in, wait for it, read what the warp ``shift`` further on copied: four rounds."""
    warps = [Warp(0, warp) for warp in range(WARPS)]
    records: list[Record] = []

    def everywhere(step) -> None:
        records.extend(step(number, warp) for number, warp in enumerate(warps))

    def commit(_: int, warp: Warp) -> Record:
        return warp.other(RecordKind.ASYNC_COMMIT, 0x18)

    def wait(_: int, warp: Warp) -> Record:
        return warp.other(RecordKind.ASYNC_WAIT, 0x20, address=pending)

    def barrier(pc: int):
        return lambda _, warp: warp.barrier(pc)

    if mbarrier:
        records.append(warps[0].other(RecordKind.MBARRIER, 0x8))
    for turn in range(4):

        def part(number: int, start: int = turn % 2 * 128 * WARPS):
            return lambda lane: start + 4 * (32 * (number % WARPS) + lane)

        everywhere(lambda n, warp, part=part: warp.write(0x11, part(n), flags=RecordFlag.ASYNC, **SHARED))
        order = [commit, wait] if commit_first else [wait, commit]
        for step in [*order, barrier(0x30)] if wait_first else [commit, barrier(0x30), wait]:
            everywhere(step)
        everywhere(lambda n, warp, part=part: warp.read(0x40, part(n + shift), **SHARED))
        everywhere(barrier(0x60))
    return [*records, *(warp.exit() for warp in warps)]


@pytest.mark.parametrize(("shift", "label"), [(0, "thread"), (1, "block")])
def test_a_pipeline_that_waits_for_its_copies_raises_no_alarm(shift, label):
    graph = graph_of(pipeline(shift=shift))
    assert findings_of(graph, "race-candidate") == []
    (edge,) = (edge for edge in graph.edges if edge.label == label and graph.node(edge.node).pc == 0x40)
    assert edge.unordered == 0


@pytest.mark.parametrize(("shift", "scope"), [(0, "thread"), (1, "block")])
@pytest.mark.parametrize(
    "wrong", [{"pending": 1}, {"commit_first": False}], ids=["one-too-many", "late-commit"]
)
def test_asynchronous_copy_that_was_not_waited_for(wrong, shift, scope):
    """Case 6: of a group that is still pending neither the copying thread nor another may read."""
    (race,) = findings_of(graph_of(pipeline(shift=shift, **wrong)), "race-candidate")
    assert at(race) == [0x40, 0x11]
    assert (race.variant, race.scope) == ("RAW", scope)
    assert "cp.async.wait_group" in race.summary
    assert race.evidence["unordered_bytes"] == 4 * WARPS * 128


def test_asynchronous_copy_that_is_waited_for_behind_the_barrier():
    assert findings_of(graph_of(pipeline(wait_first=False)), "race-candidate") == []
    (race,) = findings_of(graph_of(pipeline(wait_first=False, shift=1)), "race-candidate")
    assert (race.variant, race.scope, at(race)) == ("RAW", "block", [0x40, 0x11])
    assert "cp.async.wait_group" in race.summary
    assert "__syncthreads" in race.summary


def test_copies_of_a_block_with_mbarriers_are_not_judged():
    assert findings_of(graph_of(pipeline(commit_first=False, mbarrier=True)), "race-candidate") == []


def test_a_wait_of_some_lanes_is_theirs_only():
    warp = Warp()
    records = [
        warp.write(0x11, lambda lane: 4 * lane, flags=RecordFlag.ASYNC, **SHARED),
        warp.other(RecordKind.ASYNC_COMMIT, 0x18),
        warp.other(RecordKind.ASYNC_WAIT, 0x20, active=0xFFFF),
        warp.read(0x30, lambda lane: 4 * lane, **SHARED),
        warp.exit(),
    ]
    (race,) = findings_of(graph_of(records, warps=1), "race-candidate")
    assert race.evidence["unordered_thread_bytes"] == 64
