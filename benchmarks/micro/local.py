"""Graphs of the kernels in local.cu: arrays of 8 elements in local memory.

Word w of lane l lies at 128 w + 4 l, so a word of all lanes fills 4 sectors.
"""

from __future__ import annotations

from micro.graph import Edge, Graph, benchmark, far

ELEMENTS = 8


def array(blocks: int, size: int, written: int, read: int) -> Graph:
    """Each element written once and read once, with so many sectors an execution."""
    n = 64 * blocks
    times = n // 32 * ELEMENTS
    return [
        far("write", "write", times, Edge("cold", ELEMENTS * n), size=size, sectors=written, space="local"),
        far(
            "read",
            "read",
            times,
            Edge("thread", ELEMENTS * n, "write"),
            size=size,
            sectors=read,
            space="local",
        ),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


@benchmark("local", (4, 3))
def indexed(blocks: int, by: int) -> Graph:
    del by  # where it starts changes nothing
    return array(blocks, 4, 4, 4)


@benchmark("local", (4,))
def rotated(blocks: int) -> Graph:
    """Lane l writes word (j + l) % 8: no two of the 8 lanes that share a sector when at one word are so."""
    return array(blocks, 4, 32, 4)


@benchmark("local", (4, 3))
def wide(blocks: int, by: int) -> Graph:
    """Four words a vector, 4 sectors each."""
    del by
    return array(blocks, 16, 16, 16)


@benchmark("local", (4, 3))
def narrow(blocks: int, by: int) -> Graph:
    """Characters of one word: the words of all lanes."""
    del by
    return array(blocks, 1, 4, 4)
