"""Graphs of the kernels in unused.cu: a vector load moves all of its bytes, whichever of them are used."""

from __future__ import annotations

from micro.graph import Edge, Graph, benchmark, far, near

# n threads in blocks of 128. Which word is left out has no say in anything.


def far_without(blocks: int) -> Graph:
    """The word that was left out comes from the load; 32 of them, 16 bytes apart, are in 16 sectors."""
    n = 128 * blocks
    return [
        far("write", "write", n // 32, Edge("cold", n), size=16),
        far("read", "read", n // 32, Edge("warp_diff_inst", n, "write", unordered=0), size=16),
        far("rest", "read", n // 32, Edge("warp_diff_inst", n, "read"), sectors=16),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


def near_without(blocks: int) -> Graph:
    """As in global memory; words 16 bytes apart are in one bank every eight lanes: 4 wavefronts."""
    n = 128 * blocks
    return [
        near("write", "write", n // 32, Edge("cold", n), size=16),
        near("read", "read", n // 32, Edge("warp_diff_inst", n, "write", unordered=0), size=16),
        near("rest", "read", n // 32, Edge("warp_diff_inst", n, "read"), wavefronts=4),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


@benchmark("unused", (8,))
def far_without0(blocks: int) -> Graph:
    return far_without(blocks)


@benchmark("unused", (8,))
def far_without1(blocks: int) -> Graph:
    return far_without(blocks)


@benchmark("unused", (8,))
def far_without2(blocks: int) -> Graph:
    return far_without(blocks)


@benchmark("unused", (8,))
def far_without3(blocks: int) -> Graph:
    return far_without(blocks)


@benchmark("unused", (8,))
def near_without0(blocks: int) -> Graph:
    return near_without(blocks)


@benchmark("unused", (8,))
def near_without1(blocks: int) -> Graph:
    return near_without(blocks)


@benchmark("unused", (8,))
def near_without2(blocks: int) -> Graph:
    return near_without(blocks)


@benchmark("unused", (8,))
def near_without3(blocks: int) -> Graph:
    return near_without(blocks)
