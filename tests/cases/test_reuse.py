"""Accumulation in memory, contended counters, and state that must not outlive its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cases import kernels
from cuvein.vocabulary import Space
from reference.streams import Warp, launch

if TYPE_CHECKING:
    from conftest import Analyse

Y = kernels.SOURCE


def test_an_accumulator_that_is_not_kept_in_a_register(analysed: Analyse) -> None:
    rounds = 8
    shape, records = kernels.accumulate(rounds)
    (graph,) = analysed([shape], records)
    assert graph.out(0x40) == {(None, "cold"): 256, (0x60, "thread"): 256 * (rounds - 1)}
    assert graph.out(0x60) == {(0x40, "thread"): 256 * rounds}
    share = graph.edge(0x40, 0x60, "thread").bytes / graph.node(0x40).bytes
    assert share == (rounds - 1) / rounds
    same = graph.edge(0x50, 0x50, "warp_same_inst").bytes
    assert same / graph.node(0x50).bytes == 31 / 32
    assert graph.out(0x50)[None, "cold"] == 4 * rounds
    assert graph.out(0x50)[0x50, "block"] == 4 * rounds


@pytest.mark.parametrize("space", [Space.GLOBAL, Space.SHARED])
def test_a_histogram_of_equal_inputs(analysed: Analyse, space: Space) -> None:
    blocks, warps, rounds = 4, 4, 5
    shape, records = kernels.histogram(space, blocks, warps, rounds)
    (graph,) = analysed([shape], records)
    executions = blocks * warps * rounds
    node = graph.node(0x40)
    assert node.executions == executions
    assert node.lanes == {32: executions}
    out = graph.out(0x40)
    assert out[0x40, "warp_same_inst"] / node.bytes == pytest.approx(0.969, abs=0.0005)
    if space == Space.GLOBAL:
        assert node.addresses == {1: executions}
        assert out[None, "cold"] == 4
        assert out[0x40, "grid"] == 4 * (blocks - 1)
        assert out[0x40, "block"] == 4 * (executions - blocks)
    else:
        # Contention stays inside a block.
        assert node.words == {1: executions}
        assert node.wavefronts == {1: executions}
        assert out[None, "cold"] == 4 * blocks
        assert out[0x40, "block"] == 4 * (executions - blocks)
    assert graph.edge(0x40, 0x40, "block").unordered is None


def test_memory_that_is_freed_and_allocated_again_is_cold(analysed: Analyse) -> None:
    warp = Warp()
    records = [
        warp.malloc(Y, 256),
        warp.write(0x40, lambda lane: Y + 4 * lane),
        warp.read(0x50, lambda lane: Y + 4 * lane),
        warp.free(Y),
        warp.malloc(Y, 64),
        warp.read(0x60, lambda lane: Y + 4 * lane),
    ]
    (graph,) = analysed([launch()], records)
    assert graph.out(0x50) == {(0x40, "thread"): 128}
    assert graph.out(0x60) == {(None, "cold"): 64, (0x50, "thread"): 64}


def test_launches_one_after_the_other_start_cold(analysed: Analyse) -> None:
    records = []
    for sequence in (1, 2):
        warp = Warp(launch=sequence)
        records += [warp.write(0x40, lambda lane: Y + 4 * lane), warp.read(0x50, lambda lane: Y + 4 * lane)]
    for graph in analysed([launch(1), launch(2)], records):
        assert graph.out(0x40) == {(None, "cold"): 128}
        assert graph.out(0x50) == {(0x40, "thread"): 128}


def test_launches_at_the_same_time_do_not_see_each_other(analysed: Analyse) -> None:
    records = []
    for block in range(4):
        for sequence in (2, 1):
            records.append(Warp(block, launch=sequence).read(0x40, {0: Y}))
            records.append(Warp(block, launch=sequence).write(0x50, {0: 0}, space=Space.SHARED))
    for graph in analysed([launch(1, grid=(4, 1, 1)), launch(2, grid=(4, 1, 1))], records):
        assert graph.out(0x40) == {(None, "cold"): 4, (0x40, "grid"): 12}
        assert graph.out(0x50) == {(None, "cold"): 16}
