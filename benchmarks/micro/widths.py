"""Graphs of the kernels in widths.cu: the same bytes in different widths."""

from __future__ import annotations

from micro.graph import Edge, Graph, benchmark, far, near

# n threads in blocks of 128, in warps of 32.


@benchmark("widths", (8,))
def bytes_then_word(blocks: int) -> Graph:
    """A byte of each of 32 words: 32 addresses, 4 sectors."""
    n = 128 * blocks
    return [
        far("write", "write", n // 8, Edge("cold", 4 * n), size=1, sectors=4),
        far("read", "read", n // 32, Edge("thread", n, "write")),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


@benchmark("widths", (8,))
def word_then_bytes(blocks: int) -> Graph:
    """Thread t reads a byte that thread t / 4 wrote: thread 0 its own, the rest of its warp others' there."""
    reads = (
        Edge("thread", blocks, "write"),
        Edge("warp_diff_inst", 31 * blocks, "write", unordered=0),
        Edge("block", 96 * blocks, "write", unordered=0),
    )
    n = 128 * blocks
    return [
        near("write", "write", n // 32, Edge("cold", n)),
        near("read", "read", n // 32, *reads, size=1),
        far("store", "write", n // 32, Edge("cold", n), size=1),
    ]


@benchmark("widths", (8,))
def one_byte(blocks: int) -> Graph:
    """One byte of each word was written by the lane beside, three are new."""
    n = 128 * blocks
    reads = (
        Edge("warp_diff_inst", n, "write", bytes=n, unordered=0),
        Edge("cold", n, bytes=3 * n),
    )
    return [
        far("write", "write", n // 32, Edge("cold", n), size=1, sectors=4),
        far("read", "read", n // 32, *reads),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


@benchmark("widths", (8,))
def pairs(blocks: int) -> Graph:
    """Lane t reads words 2 t and 2 t + 1: lane 0 its own and lane 1's, lanes up to 15 those of the warp."""
    reads = (
        Edge("thread", blocks, "write", bytes=4 * blocks),
        Edge("warp_diff_inst", 16 * blocks, "write", bytes=(4 + 15 * 8) * blocks, unordered=0),
        Edge("block", 16 * blocks, "write", unordered=0),
    )
    return [
        near("write", "write", 2 * blocks, Edge("cold", 64 * blocks)),
        near("move", "read", blocks, *reads, size=8),
        far("move", "write", blocks, Edge("cold", 32 * blocks), size=8),
    ]


@benchmark("widths", (8,))
def four_origins(blocks: int) -> Graph:
    """One vector of four words that four instructions stored: 32 words 16 bytes apart, 16 sectors."""
    n = 128 * blocks
    names = [f"write{word}" for word in range(4)]
    return [
        *(far(name, "write", n // 32, Edge("cold", n), sectors=16) for name in names),
        far("move", "read", n // 32, *(Edge("thread", n, name, bytes=4 * n) for name in names), size=16),
        far("move", "write", n // 32, Edge("cold", n), size=16),
    ]


@benchmark("widths", (8,))
def vector_then_words(blocks: int) -> Graph:
    """Four lanes read one of four vectors: 16 bytes in every 64 are 8 sectors for a warp."""
    n = 128 * blocks
    reads = (
        Edge("thread", n // 4, "write"),
        Edge("warp_diff_inst", n // 4 * 3, "write", unordered=0),
    )
    return [
        far("write", "write", n // 32, Edge("cold", n), size=16),
        far("read", "read", n // 32, *reads, sectors=8),
        far("store", "write", n // 32, Edge("cold", n)),
    ]
