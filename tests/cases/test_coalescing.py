"""Strided copies in global memory, and what the lanes of one access may look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cases import kernels
from cases.kernels import SOURCE, TARGET
from reference.streams import Warp, launch

if TYPE_CHECKING:
    from conftest import Analyse

    from reference.graph import Node

ELEMENTS = 4096


def mean_ratio(node: Node) -> float:
    """Sectors over the sectors that the bytes of the active lanes would fill."""
    sectors = sum(value * count for value, count in node.sectors.items())
    return sectors / sum(-(-lanes * node.size // 32) * count for lanes, count in node.lanes.items())


@pytest.mark.parametrize(("stride", "sectors", "ratio"), [(1, 4, 1), (2, 8, 2), (32, 32, 8)])
def test_a_guarded_copy_with_stride(analysed: Analyse, stride: int, sectors: int, ratio: int) -> None:
    shape, records = kernels.strided_copy(stride, ELEMENTS)
    (graph,) = analysed([shape], records)
    for pc in (0x40, 0x50):
        node = graph.node(pc)
        assert node.sectors == {sectors: ELEMENTS // stride // 32}
        assert mean_ratio(node) == ratio
        assert sum(lanes * count for lanes, count in node.lanes.items()) == ELEMENTS // stride
        assert graph.out(pc) == {(None, "cold"): ELEMENTS // stride * 4}


def test_a_warp_astride_two_allocations(analysed: Analyse) -> None:
    starts = [(SOURCE if lane < 16 else TARGET) + 4 * lane for lane in range(32)]
    shape = launch(allocations=[(SOURCE, 4096), (TARGET, 4096)])
    (graph,) = analysed([shape], [Warp().write(0x40, starts), Warp().read(0x50, starts)])
    for pc in (0x40, 0x50):
        assert graph.node(pc).lanes == {32: 1}
        assert graph.node(pc).addresses == {32: 1}
        assert graph.node(pc).sectors == {4: 1}
        assert graph.node(pc).allocations == {(SOURCE, 4096): 64, (TARGET, 4096): 64}
    assert graph.out(0x50) == {(0x40, "thread"): 128}
    assert graph.edge(0x50, 0x40, "thread").count == 32
    assert graph.unknown_bytes == 0


def test_a_broadcast_of_16_bytes(analysed: Analyse) -> None:
    (graph,) = analysed([launch()], [Warp().read(0x40, lambda lane: SOURCE, size=16)])
    assert graph.out(0x40) == {(None, "cold"): 16, (0x40, "warp_same_inst"): 496}
    assert graph.edge(0x40, 0x40, "warp_same_inst").count == 31
    assert graph.node(0x40).addresses == {1: 1}
    assert graph.node(0x40).sectors == {1: 1}


def test_a_word_load_over_a_byte_store(analysed: Analyse) -> None:
    records = [Warp().write(0x40, {0: SOURCE + 1}, size=1), Warp().read(0x50, {9: SOURCE})]
    (graph,) = analysed([launch()], records)
    assert graph.out(0x50) == {(None, "cold"): 3, (0x40, "warp_diff_inst"): 1}


def test_a_byte_store_leaves_the_rest_of_the_word_as_it_was(analysed: Analyse) -> None:
    records = [
        Warp().write(0x40, {0: SOURCE}),
        Warp().write(0x50, {0: SOURCE + 1}, size=1),
        Warp().read(0x60, {0: SOURCE}),
    ]
    (graph,) = analysed([launch()], records)
    assert graph.out(0x60) == {(0x40, "thread"): 3, (0x50, "thread"): 1}
