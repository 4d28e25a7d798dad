"""Graphs of the kernels in redundancy.cu: what a thread repeats."""

from __future__ import annotations

from micro.graph import Edge, Graph, benchmark, far, near

# n threads in blocks of 128, in warps of 32.


@benchmark("redundancy", (8, 4))
def read_after_read(blocks: int, rounds: int) -> Graph:
    n = 128 * blocks
    loads = (Edge("cold", n), Edge("thread", n * (rounds - 1), "load"))
    return [
        far("load", "read", n // 32 * rounds, *loads),
        far("store", "write", n // 32 * rounds, Edge("cold", n * rounds)),
    ]


@benchmark("redundancy", (8,))
def read_after_write(blocks: int) -> Graph:
    n = 128 * blocks
    return [
        far("write", "write", n // 32, Edge("cold", n)),
        far("read", "read", n // 32, Edge("thread", n, "write")),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


@benchmark("redundancy", (8,))
def write_after_write(blocks: int) -> Graph:
    n = 128 * blocks
    return [
        far("first", "write", n // 32, Edge("cold", n)),
        far("second", "write", n // 32, Edge("thread", n, "first")),
    ]


@benchmark("redundancy", (8,))
def write_after_read(blocks: int) -> Graph:
    n = 128 * blocks
    return [
        far("read", "read", n // 32, Edge("cold", n)),
        far("write", "write", n // 32, Edge("thread", n, "read")),
    ]


@benchmark("redundancy", (8,))
def reload_half(blocks: int) -> Graph:
    """16 lanes, every other one of the 128 bytes' words: 16 addresses in 4 sectors."""
    n = 128 * blocks
    return [
        far("load", "read", n // 32, Edge("cold", n)),
        far("store", "write", n // 32, Edge("cold", n)),
        far("again", "read", n // 32, Edge("thread", n // 2, "load"), lanes=16, sectors=4),
        far("store_again", "write", n // 32, Edge("cold", n // 2), lanes=16, sectors=4),
    ]


@benchmark("redundancy", (8, 4))
def accumulate(blocks: int, rounds: int) -> Graph:
    n = 128 * blocks
    times = n // 32 * rounds
    return [
        far("gain", "read", times, Edge("cold", n * rounds)),
        far("read", "read", times, Edge("cold", n), Edge("thread", n * (rounds - 1), "write")),
        far("write", "write", times, Edge("thread", n * rounds, "read")),
    ]


@benchmark("redundancy", (8,))
def own_slot(blocks: int) -> Graph:
    n = 128 * blocks
    return [
        near("write", "write", n // 32, Edge("cold", n)),
        near("read", "read", n // 32, Edge("thread", n, "write")),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


@benchmark("redundancy", (8,))
def shared_overwritten(blocks: int) -> Graph:
    n = 128 * blocks
    return [
        near("first", "write", n // 32, Edge("cold", n)),
        near("second", "write", n // 32, Edge("thread", n, "first")),
        near("read", "read", n // 32, Edge("warp_diff_inst", n, "second", unordered=0)),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


@benchmark("redundancy", (8, 4))
def shared_reread(blocks: int, rounds: int) -> Graph:
    """The lane beside wrote the slot; from the second round on the thread itself was last to read it."""
    n = 128 * blocks
    reads = (
        Edge("warp_diff_inst", n, "write", unordered=0),
        Edge("thread", n * (rounds - 1), "read"),
    )
    return [
        near("write", "write", n // 32, Edge("cold", n)),
        near("read", "read", n // 32 * rounds, *reads),
        far("store", "write", n // 32, Edge("cold", n)),
    ]
