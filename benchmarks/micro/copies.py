"""Graphs of the kernels in copies.cu: the wavefronts of asynchronous copies through L1.

A lane takes its turn after all lower lanes of its group that read at its bank of L1 or write at its bank of
shared memory. A group is 32 lanes of 4 bytes or 16 lanes of 8, and there are as many banks.
"""

from __future__ import annotations

from collections import Counter

from micro.graph import Edge, Graph, benchmark, far, near


def rows(size: int, blocks: int, pitch: int, step: int, whole: int) -> Graph:
    """One side only makes lanes wait: rows at the same banks of L1, or places of every other bank."""
    banks = 128 // size
    turns = 0
    for first in range(0, 32, banks):
        read = range(first // 8, min(first + banks, whole) // 8)
        turns += max([step, *Counter(pitch * row % banks for row in read).values()])
    copied = near(
        "copy",
        "write",
        blocks,
        Edge("cold", 32 * blocks),
        size=size,
        wavefronts=turns,
        asynchronous=True,
    )
    cold = Edge("cold", whole * blocks)
    sectors = whole * size // 32
    source = far("copy", "read", blocks, cold, size=size, lanes=whole, sectors=sectors, asynchronous=True)
    return [source, copied, *moved(size, blocks, step)]


def moved(size: int, blocks: int, step: int = 1) -> Graph:
    """Each lane reads what the lane beside it has copied."""
    n = 32 * blocks
    read = Edge("warp_diff_inst", n, "copy", unordered=0)
    return [
        near("move", "read", blocks, read, size=size, wavefronts=step * size // 4),
        far("move", "write", blocks, Edge("cold", n), size=size),
    ]


@benchmark(
    "copies", (8, 8, 1, 32), (8, 16, 1, 32), (8, 32, 1, 32), (8, 8, 2, 32), (8, 32, 1, 16), (8, 32, 1, 8)
)
def rows4(blocks: int, pitch: int, step: int, whole: int) -> Graph:
    return rows(4, blocks, pitch, step, whole)


@benchmark("copies", (8, 8, 1, 32), (8, 16, 1, 32), (8, 8, 2, 32), (8, 16, 1, 24))
def rows8(blocks: int, pitch: int, step: int, whole: int) -> Graph:
    return rows(8, blocks, pitch, step, whole)


def one(size: int, blocks: int) -> Graph:
    """All lanes wait for one another, at one bank of L1."""
    again = Edge("warp_same_inst", 31 * blocks, "copy")
    return [
        far(
            "copy",
            "read",
            blocks,
            Edge("cold", blocks),
            again,
            size=size,
            addresses=1,
            sectors=1,
            asynchronous=True,
        ),
        near("copy", "write", blocks, Edge("cold", 32 * blocks), size=size, wavefronts=32, asynchronous=True),
        *moved(size, blocks),
    ]


@benchmark("copies", (8,))
def one4(blocks: int) -> Graph:
    return one(4, blocks)


@benchmark("copies", (8,))
def one8(blocks: int) -> Graph:
    return one(8, blocks)
