"""Graphs of the kernels in coalescing.cu: sectors of 32 bytes. Everything is touched for the first time."""

from __future__ import annotations

from micro.graph import Edge, Graph, benchmark, far, span

# n threads in blocks of 128, in warps of 32.


def moved(blocks: int, sectors: int) -> Graph:
    """A word loaded, with so many sectors a warp, and stored side by side."""
    n = 128 * blocks
    return [
        far("load", "read", n // 32, Edge("cold", n), sectors=sectors),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


@benchmark("coalescing", (8, 1), (8, 2), (8, 3), (8, 4), (8, 8), (8, 32))
def strided(blocks: int, step: int) -> Graph:
    """32 words over 128 step bytes: a sector each from a step of 8 words on."""
    return moved(blocks, min(32, 4 * step))


@benchmark("coalescing", (8, 1), (8, 7), (8, 8))
def shifted(blocks: int, by: int) -> Graph:
    return moved(blocks, span(4 * by, 128))


def width(blocks: int, size: int) -> Graph:
    """32 elements side by side take as many sectors as an element has bytes."""
    n = 128 * blocks
    return [
        far("move", "read", n // 32, Edge("cold", n), size=size, sectors=size),
        far("move", "write", n // 32, Edge("cold", n), size=size, sectors=size),
    ]


@benchmark("coalescing", (8,))
def width1(blocks: int) -> Graph:
    return width(blocks, 1)


@benchmark("coalescing", (8,))
def width2(blocks: int) -> Graph:
    return width(blocks, 2)


@benchmark("coalescing", (8,))
def width4(blocks: int) -> Graph:
    return width(blocks, 4)


@benchmark("coalescing", (8,))
def width8(blocks: int) -> Graph:
    return width(blocks, 8)


@benchmark("coalescing", (8,))
def width16(blocks: int) -> Graph:
    return width(blocks, 16)


@benchmark("coalescing", (8,))
def members(blocks: int) -> Graph:
    """32 structures of 12 bytes fill 12 sectors; each member of them is in all."""
    n = 128 * blocks
    loads = [far(member, "read", n // 32, Edge("cold", n), sectors=12) for member in "xyz"]
    return [*loads, far("store", "write", n // 32, Edge("cold", n))]


@benchmark("coalescing", (8,))
def reversed_(blocks: int) -> Graph:
    return moved(blocks, 4)


@benchmark("coalescing", (8,))
def permuted(blocks: int) -> Graph:
    return moved(blocks, 4)


@benchmark("coalescing", (8, 8), (8, 16))
def column_walk(blocks: int, columns: int) -> Graph:
    """Rows of at least 32 bytes: each lane is in a sector of its own, in every step."""
    n = 128 * blocks
    return [
        far("load", "read", n // 32 * columns, Edge("cold", n * columns), sectors=min(32, 4 * columns)),
        far("store", "write", n // 32, Edge("cold", n)),
    ]
