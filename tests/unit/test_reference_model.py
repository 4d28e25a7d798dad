"""The reference model against examples small enough to work out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cuvein.vocabulary import AccessType, AddressForm, Instruction, RecordFlag, RecordKind, Space
from reference.model import Model, analyse
from reference.records import Record, decode, encode
from reference.streams import Warp, launch

if TYPE_CHECKING:
    from cuvein.profile.model import Launch
    from reference.graph import Graph

A = 0x7F00_0000_0000
ONE_BLOCK = launch(block=(64, 1, 1))
TWO_BLOCKS = launch(grid=(2, 1, 1), block=(64, 1, 1))


def model_of(shape: Launch, *records: Record) -> Model:
    return analyse([shape], records)[shape.sequence]


def graph_of(shape: Launch, *records: Record) -> Graph:
    return model_of(shape, *records).graph


def test_a_first_access_is_cold() -> None:
    graph = graph_of(ONE_BLOCK, Warp().read(16, lambda i: A + 4 * i))
    assert graph.out(16) == {(None, "cold"): 128}
    assert graph.edge(16, None, "cold").count == 32
    assert graph.edge(16, None, "cold").unordered is None


def test_the_same_thread() -> None:
    graph = graph_of(ONE_BLOCK, Warp().write(16, lambda i: A + 4 * i), Warp().read(32, lambda i: A + 4 * i))
    assert graph.out(32) == {(16, "thread"): 128}


def test_a_broadcast_is_cold_once_and_then_the_same_instruction() -> None:
    graph = graph_of(ONE_BLOCK, Warp().read(16, lambda i: A))
    assert graph.out(16) == {(None, "cold"): 4, (16, "warp_same_inst"): 124}
    assert graph.edge(16, 16, "warp_same_inst").count == 31


def test_a_broadcast_read_again_meets_the_highest_lane_of_the_first() -> None:
    graph = graph_of(ONE_BLOCK, Warp().read(16, lambda i: A), Warp().read(32, lambda i: A))
    assert graph.out(32) == {(16, "warp_diff_inst"): 4, (32, "warp_same_inst"): 124}
    graph = graph_of(ONE_BLOCK, Warp().read(16, lambda i: A), Warp().read(32, {31: A}))
    assert graph.out(32) == {(16, "thread"): 4}


def test_another_lane_another_warp_another_block() -> None:
    first = Warp().write(16, {0: A})
    assert graph_of(ONE_BLOCK, first, Warp().read(32, {1: A})).out(32) == {(16, "warp_diff_inst"): 4}
    assert graph_of(ONE_BLOCK, first, Warp(warp=1).read(32, {0: A})).out(32) == {(16, "block"): 4}
    assert graph_of(TWO_BLOCKS, first, Warp(block=1).read(32, {0: A})).out(32) == {(16, "grid"): 4}


def test_blocks_of_one_cluster_are_neighbours_in_three_dimensions() -> None:
    shape = launch(grid=(4, 2, 2), block=(32, 1, 1), cluster=(2, 2, 1))

    def label(block: int) -> str:
        graph = graph_of(shape, Warp(block=0).write(16, {0: A}), Warp(block=block).read(32, {0: A}))
        ((_, name),) = graph.out(32)
        return name

    found = {block: label(block) for block in range(16)}
    assert {block for block, name in found.items() if name == "cluster"} == {1, 4, 5}
    assert {block for block, name in found.items() if name == "grid"} == set(range(2, 16)) - {4, 5}
    assert found[0] == "thread"


def test_one_lane_may_have_several_edges_and_counts_once_on_each() -> None:
    graph = graph_of(ONE_BLOCK, Warp().write(16, {0: A + 1}, size=1), Warp().read(32, {5: A}))
    assert graph.out(32) == {(None, "cold"): 3, (16, "warp_diff_inst"): 1}
    assert graph.edge(32, None, "cold").count == 1
    assert graph.edge(32, 16, "warp_diff_inst").count == 1


def test_lanes_that_overlap_in_part() -> None:
    graph = graph_of(ONE_BLOCK, Warp().read(16, {0: A, 1: A + 2}))
    assert graph.out(16) == {(None, "cold"): 6, (16, "warp_same_inst"): 2}
    assert graph.edge(16, None, "cold").count == 2
    assert graph.edge(16, 16, "warp_same_inst").count == 1


def test_shared_memory_belongs_to_a_block_until_its_last_thread_ends() -> None:
    shape = launch(grid=(2, 1, 1), block=(32, 1, 1))
    write = Warp().write(16, {0: 0}, space=Space.SHARED)
    other = graph_of(shape, write, Warp(block=1).read(32, {0: 0}, space=Space.SHARED))
    assert other.out(32) == {(None, "cold"): 4}
    some = graph_of(shape, write, Warp().exit(0xFFFF_FFF0), Warp().read(32, {0: 0}, space=Space.SHARED))
    assert some.out(32) == {(16, "thread"): 4}


def test_local_memory_belongs_to_a_thread() -> None:
    warp = Warp()
    graph = graph_of(
        ONE_BLOCK,
        warp.write(16, lambda i: 8, space=Space.LOCAL),
        warp.read(32, lambda i: 8, space=Space.LOCAL),
        Warp(warp=1).read(48, lambda i: 8, space=Space.LOCAL),
    )
    assert graph.out(16) == {(None, "cold"): 128}
    assert graph.out(32) == {(16, "thread"): 128}
    assert graph.out(48) == {(None, "cold"): 128}
    assert graph.node(16).addresses == {32: 1}
    assert graph.node(16).sectors == {4: 1}


def test_local_words_of_a_warp_lie_side_by_side() -> None:
    def sectors(size: int, start: int, lanes: int) -> int:
        starts = dict.fromkeys(range(lanes), start)
        graph = graph_of(ONE_BLOCK, Warp().write(16, starts, size=size, space=Space.LOCAL))
        ((value, _),) = graph.node(16).sectors.items()
        return value

    assert sectors(4, 0, 32) == 4
    assert sectors(4, 0, 8) == 1
    assert sectors(8, 0, 8) == 2
    assert sectors(16, 16, 32) == 16
    assert sectors(1, 3, 32) == 4


def test_launches_do_not_see_each_other() -> None:
    shapes = [launch(1), launch(2)]
    models = analyse(
        shapes,
        [Warp(launch=1).write(16, {0: A}), Warp(launch=2).read(32, {0: A}), Warp(launch=1).read(48, {0: A})],
    )
    assert models[2].graph.out(32) == {(None, "cold"): 4}
    assert models[1].graph.out(48) == {(16, "thread"): 4}


def test_memory_allocated_on_the_device_heap_is_new() -> None:
    warp = Warp()
    model = model_of(
        ONE_BLOCK,
        warp.malloc(A, 8),
        warp.write(16, {0: A}, size=16),
        warp.free(A),
        warp.read(32, {0: A}, size=16),
        warp.malloc(A, 8),
        warp.read(48, {0: A}, size=16),
    )
    assert model.graph.out(32) == {(16, "thread"): 16}
    assert model.graph.out(48) == {(None, "cold"): 8, (32, "thread"): 8}
    assert model.distinct_bytes[Space.GLOBAL] == 24


@pytest.mark.parametrize(
    ("stride", "size", "sectors"),
    [(4, 4, 4), (8, 4, 8), (128, 4, 32), (0, 4, 1), (16, 16, 16), (1, 1, 1), (32, 16, 32)],
)
def test_sectors(stride: int, size: int, sectors: int) -> None:
    graph = graph_of(ONE_BLOCK, Warp().read(16, lambda i: A + stride * i, size=size))
    assert graph.node(16).sectors == {sectors: 1}
    assert graph.node(16).addresses == {(32 if stride else 1): 1}
    assert graph.node(16).lanes == {32: 1}


@pytest.mark.parametrize(
    ("stride", "size", "words", "wavefronts", "ideal"),
    [
        (4, 4, 32, 1, 1),
        (8, 4, 32, 2, 1),
        (16, 4, 32, 4, 1),
        (128, 4, 32, 32, 1),
        (132, 4, 32, 1, 1),
        (0, 4, 1, 1, 1),
        (1, 1, 8, 1, 1),
        (2, 2, 16, 1, 1),
        (8, 8, 64, 2, 2),
        (16, 16, 128, 4, 4),
        (0, 8, 2, 1, 1),
        (0, 16, 4, 2, 2),
        (256, 8, 64, 32, 2),
        (32, 16, 128, 8, 4),
    ],
)
def test_wavefronts(stride: int, size: int, words: int, wavefronts: int, ideal: int) -> None:
    graph = graph_of(ONE_BLOCK, Warp().read(16, lambda i: stride * i, size=size, space=Space.SHARED))
    node = graph.node(16)
    assert node.words == {words: 1}
    assert node.wavefronts == {wavefronts: 1}
    assert node.ideal_wavefronts == {ideal: 1}
    assert not node.addresses
    assert not node.sectors


def test_wavefront_groups_are_fixed_lanes_and_empty_ones_cost_nothing() -> None:
    starts = {lane: 16 * lane for lane in range(4, 12)}
    graph = graph_of(ONE_BLOCK, Warp().read(16, starts, size=16, space=Space.SHARED, flags=RecordFlag.MATRIX))
    assert graph.node(16).lanes == {8: 1}
    assert graph.node(16).words == {32: 1}
    assert graph.node(16).wavefronts == {2: 1}


def test_an_asynchronous_copy_is_two_accesses_with_their_own_sizes() -> None:
    warp = Warp()
    graph = graph_of(
        ONE_BLOCK,
        warp.read(16, {0: A, 1: A + 16}, size=[16, 5], flags=RecordFlag.ASYNC),
        warp.write(17, lambda i: 16 * i, size=16, space=Space.SHARED, flags=RecordFlag.ASYNC),
    )
    assert graph.node(16).bytes == 21
    assert graph.node(16).size == 16
    assert graph.node(16).sectors == {1: 1}
    assert graph.node(17).bytes == 512
    assert graph.node(16).asynchronous
    assert graph.node(17).asynchronous


def test_bytes_are_told_by_allocation() -> None:
    shape = launch(allocations=[(A, 64), (A + 4096, 6)])
    graph = graph_of(shape, Warp().read(16, {0: A + 60, 1: A + 4096 + 4, 2: A + 8192}))
    assert graph.node(16).allocations == {(A, 64): 4, (A + 4096, 6): 2, None: 6}
    assert graph.unknown_bytes == 6


def unordered(*between: Record, reader: Record, kind: AccessType = AccessType.WRITE) -> int | None:
    first = Warp(warp=0).access(kind, 16, {0: 0, 1: 4}, space=Space.SHARED)
    graph = graph_of(ONE_BLOCK, first, *between, reader)
    (edge,) = (edge for (key, origin, _), edge in graph.edges.items() if key[0] == 96 and origin)
    return edge.unordered


READ_BY_BLOCK = Warp(warp=1).read(96, {0: 0, 1: 4}, space=Space.SHARED)
READ_BY_WARP = Warp(warp=0).read(96, {2: 0, 3: 4}, space=Space.SHARED)
BARRIER = (Warp(warp=0).barrier(), Warp(warp=1).barrier())


def test_a_block_barrier_orders() -> None:
    assert unordered(reader=READ_BY_BLOCK) == 8
    assert unordered(*BARRIER, reader=READ_BY_BLOCK) == 0
    assert unordered(*BARRIER, reader=READ_BY_WARP) == 0
    assert unordered(Warp(warp=1).barrier(), reader=READ_BY_BLOCK) == 8


def test_a_barrier_before_the_first_access_orders_nothing() -> None:
    first = Warp(warp=0).write(16, {0: 0}, space=Space.SHARED)
    graph = graph_of(ONE_BLOCK, *BARRIER, first, Warp(warp=1).read(96, {0: 0}, space=Space.SHARED))
    assert graph.edge(96, 16, "block").unordered == 4


def test_divergent_lanes_reach_a_barrier_in_parts() -> None:
    low, high = Warp(warp=0).barrier(active=0xFFFF), Warp(warp=0).barrier(active=0xFFFF_0000)
    other = Warp(warp=1).barrier()
    assert unordered(low, other, reader=READ_BY_BLOCK) == 8
    assert unordered(low, other, high, reader=READ_BY_BLOCK) == 0


def test_threads_that_ended_are_not_waited_for() -> None:
    half = Warp(warp=1).barrier(active=0xFFFF)
    assert unordered(Warp(warp=1).exit(0xFFFF_0000), Warp(warp=0).barrier(), half, reader=READ_BY_BLOCK) == 0
    assert unordered(Warp(warp=0).barrier(), half, Warp(warp=1).exit(0xFFFF_0000), reader=READ_BY_BLOCK) == 0


def test_named_barriers_of_some_warps() -> None:
    shape = launch(block=(96, 1, 1))
    first = Warp(warp=0).write(16, {0: 0}, space=Space.SHARED)
    pair = (Warp(warp=0).barrier(index=3, threads=64), Warp(warp=1).barrier(index=3, threads=64))
    for reader, expected in ((1, 0), (2, 4)):
        last = Warp(warp=reader).read(96, {0: 0}, space=Space.SHARED)
        assert graph_of(shape, first, *pair, last).edge(96, 16, "block").unordered == expected


def test_who_only_arrives_is_not_ordered_itself() -> None:
    produce = Warp(warp=0).barrier(index=1, threads=64, wait=False)
    consume = Warp(warp=1).barrier(index=1, threads=64)
    assert unordered(produce, consume, reader=READ_BY_BLOCK) == 0
    back = Warp(warp=1).write(32, {0: 64}, space=Space.SHARED)
    again = Warp(warp=0).read(96, {0: 64}, space=Space.SHARED)
    graph = graph_of(ONE_BLOCK, back, produce, consume, again)
    assert graph.edge(96, 32, "block").unordered == 4


def test_what_follows_an_arrival_is_not_ordered_by_it() -> None:
    # Warp 0 arrives at barrier 1, passes barrier 2, stores, and only then does warp 1 wait at barrier 1.
    graph = graph_of(
        ONE_BLOCK,
        Warp(warp=1).barrier(index=2, threads=64, wait=False),
        Warp(warp=0).barrier(index=1, threads=64, wait=False),
        Warp(warp=0).barrier(index=2, threads=64),
        Warp(warp=0).write(16, {0: 0}, space=Space.SHARED),
        Warp(warp=1).barrier(index=1, threads=64),
        Warp(warp=1).read(32, {0: 0}, space=Space.SHARED),
    )
    assert graph.edge(32, 16, "block").unordered == 4


def test_a_warp_barrier_orders_its_lanes() -> None:
    assert unordered(reader=READ_BY_WARP) == 8
    assert unordered(Warp(warp=0).sync(), reader=READ_BY_WARP) == 0
    assert unordered(Warp(warp=0).sync(mask=0b0111), reader=READ_BY_WARP) == 4
    assert unordered(Warp(warp=0).sync(active=0xFFFF), reader=READ_BY_WARP) == 8
    assert unordered(Warp(warp=0).sync(), reader=READ_BY_BLOCK) == 8
    assert unordered(Warp(warp=1).sync(), reader=READ_BY_WARP) == 8


def test_order_has_no_meaning_between_two_reads_or_two_atomics() -> None:
    atomic = Warp(warp=1).atomic(96, {0: 0, 1: 4}, space=Space.SHARED)
    assert unordered(reader=READ_BY_BLOCK, kind=AccessType.READ) is None
    assert unordered(reader=atomic, kind=AccessType.ATOMIC) is None
    assert unordered(reader=READ_BY_BLOCK, kind=AccessType.ATOMIC) == 8
    assert unordered(reader=atomic, kind=AccessType.READ) == 8
    assert unordered(reader=atomic) == 8
    own = Warp(warp=0).read(96, {0: 0, 1: 4}, space=Space.SHARED)
    assert unordered(reader=own) is None


def test_what_is_not_analysed_is_counted() -> None:
    model = model_of(
        ONE_BLOCK,
        Warp().not_analysed(16, Instruction.TMA_LOAD),
        Warp().not_analysed(16, Instruction.TMA_LOAD),
        Warp().not_analysed(32, Instruction.WGMMA),
        Warp().read(48, {0: 0}, space=Space.SHARED),
    )
    assert not model.ended
    assert model.graph.not_analysed == {"tma_load": 2, "wgmma": 1}
    assert model.graph.accesses == {Space.SHARED: 1}
    assert set(model.graph.nodes) == {(48, Space.SHARED, AccessType.READ)}


def test_records_survive_their_bytes_in_every_form() -> None:
    records = [
        Warp(block=2**40, warp=31, launch=7).read(-16, {3: A, 5: A - 8, 9: A - 32}, size=8),
        Warp().write(17, {1: A, 2: A + 2**31, 3: 5}, size=[0, 3, 16, 1], flags=RecordFlag.ASYNC),
        Warp().read(16, {31: 2**64 - 16}, size=16),
        Warp().read(16, {0: A, 2: A + 8, 3: A + 9}, size=1),
        Warp().barrier(8, index=15, threads=1024, wait=False),
        Warp().malloc(2**63, 2**40, lane=31),
        Warp().other(RecordKind.LAUNCH_END),
    ]
    for form in (None, *AddressForm):
        assert list(decode(encode(records, form))) == records
