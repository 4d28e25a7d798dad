"""Bank conflicts, staging, races and large tiles in shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cases import kernels
from cuvein.vocabulary import Space
from reference.streams import Warp, launch

if TYPE_CHECKING:
    from conftest import Analyse

    from reference.graph import Node

SHARED = Space.SHARED


def total(histogram: dict[int, int]) -> int:
    return sum(value * count for value, count in histogram.items())


def conflict_ratio(node: Node) -> float:
    return total(node.wavefronts) / total(node.ideal_wavefronts)


def test_a_strided_read_conflicts(analysed: Analyse) -> None:
    shape, records = kernels.strided_shared_read()
    (graph,) = analysed([shape], records)
    store, load = graph.node(0x40), graph.node(0x60)
    assert conflict_ratio(store) == 1
    assert conflict_ratio(load) == 4
    excess = sum(total(node.wavefronts) - total(node.ideal_wavefronts) for node in (store, load))
    assert excess == 6
    # Lane 0 meets its own word, lanes 1 to 7 the words of lanes 4 to 28; the others read what nobody wrote.
    assert graph.out(0x60) == {(0x40, "thread"): 8, (0x40, "warp_diff_inst"): 56, (None, "cold"): 192}
    assert graph.edge(0x60, 0x40, "warp_diff_inst").unordered == 0


@pytest.mark.parametrize("barrier", [False, True])
def test_words_written_by_one_thread_and_read_by_all(analysed: Analyse, barrier: bool) -> None:
    warps = [Warp(warp=number) for number in range(4)]
    records = [warps[0].write(0x40, {0: 0}, space=SHARED), warps[0].write(0x50, {0: 4}, space=SHARED)]
    if barrier:
        records += [warp.barrier(0x58) for warp in warps]
    for warp in warps:
        records.append(warp.read(0x60, lambda lane: 0, space=SHARED))
        records.append(warp.read(0x70, lambda lane: 4, space=SHARED))
    (graph,) = analysed([launch(block=(128, 1, 1))], records)
    for store, load in ((0x40, 0x60), (0x50, 0x70)):
        # The writer's warp comes first, and its lane 0 meets what it wrote itself; the other warps meet the
        # read before theirs. So no edge shows the race, and yet it is told of.
        assert graph.out(load) == {
            (store, "thread"): 4,
            (load, "warp_same_inst"): 4 * 31 * 4,
            (load, "block"): 3 * 4,
        }
        assert graph.edge(load, load, "block").unordered is None
    assert graph.hidden() == ({} if barrier else {(0x60, 0x40): 3 * 4, (0x70, 0x50): 3 * 4})


@pytest.mark.parametrize("barrier", [False, True])
def test_another_warp_first_reads_what_one_thread_wrote(analysed: Analyse, barrier: bool) -> None:
    # The same kernel as above in the order that shows the race: read after write.
    shape, records = kernels.two_words(barrier=barrier)
    (graph,) = analysed([shape], records)
    for store, load in ((0x40, 0x60), (0x50, 0x70)):
        assert graph.edge(load, store, "block").bytes == 4
        assert graph.edge(load, store, "block").unordered == (0 if barrier else 4)


@pytest.mark.parametrize("trailing", [False, True])
def test_a_tile_loop_without_its_trailing_barrier(analysed: Analyse, trailing: bool) -> None:
    tiles = 3
    shape, records = kernels.tile_loop(tiles, trailing=trailing)
    (graph,) = analysed([shape], records)
    assert graph.edge(0x60, 0x40, "block").bytes == tiles * 256
    assert graph.edge(0x60, 0x40, "block").unordered == 0
    # Write after read: warp 0 stores the next tile where warp 1 may still read this one.
    assert graph.edge(0x40, 0x60, "block").bytes == (tiles - 1) * 256
    assert graph.edge(0x40, 0x60, "block").unordered == (0 if trailing else (tiles - 1) * 256)


@pytest.mark.parametrize("late", [False, True])
def test_an_asynchronous_double_buffer_is_two_accesses_a_copy(analysed: Analyse, late: bool) -> None:
    stages = 4
    shape, records = kernels.double_buffer(stages, late=late)
    (graph,) = analysed([shape], records)
    assert graph.node(0x40).asynchronous
    assert graph.node(0x41).asynchronous
    assert not graph.node(0x70).asynchronous
    assert graph.out(0x40) == {(None, "cold"): stages * 128}
    assert graph.out(0x41) == {(None, "cold"): 256, (0x70, "thread"): (stages - 2) * 128}
    # The last writer of what is read is the asynchronous copy.
    assert graph.out(0x70) == {(0x41, "thread"): stages * 128}
    assert graph.edge(0x70, 0x41, "thread").unordered == (stages * 128 if late else 0)


def test_160_kib_of_dynamic_shared_memory(analysed: Analyse) -> None:
    words, threads = 160 * 1024 // 4, 1024
    warps = [Warp(warp=number) for number in range(threads // 32)]
    records = []
    for pc, step in ((0x40, 0), (0x60, 1)):
        for at in range(0, words, threads):
            for number, warp in enumerate(warps):
                first = at + 32 * number
                starts = [(first + lane + step) % words * 4 for lane in range(32)]
                records.append((warp.write if pc == 0x40 else warp.read)(pc, starts, space=SHARED))
        records += [warp.barrier(pc + 0x10) for warp in warps]
    (graph,) = analysed([launch(block=(threads, 1, 1))], records)
    assert graph.out(0x40) == {(None, "cold"): words * 4}
    # The neighbour is in the same warp for 31 lanes of 32.
    assert graph.out(0x60) == {
        (0x40, "warp_diff_inst"): words * 4 * 31 // 32,
        (0x40, "block"): words * 4 // 32,
    }
    assert graph.edge(0x60, 0x40, "block").unordered == 0
    assert graph.edge(0x60, 0x40, "warp_diff_inst").unordered == 0


def test_slots_that_only_their_own_thread_uses(analysed: Analyse) -> None:
    shape, records = kernels.private_slots()
    (graph,) = analysed([shape], records)
    assert graph.bytes_by_label() == {"cold": 3 * 256, "thread": 3 * 256 * 3}
    assert graph.out(0x50) == {(0x40, "thread"): 3 * 256 * 2}
