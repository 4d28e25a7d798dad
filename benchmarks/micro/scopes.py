"""Graphs of the kernels in scopes.cu: one label each."""

from __future__ import annotations

from micro.graph import Edge, Graph, benchmark, far

# n threads in blocks of 128, in warps of 32.


@benchmark("scopes", (8,))
def cold(blocks: int) -> Graph:
    n = 128 * blocks
    return [
        far("load", "read", n // 32, Edge("cold", n)),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


@benchmark("scopes", (8,))
def thread(blocks: int) -> Graph:
    n = 128 * blocks
    return [
        far("load", "read", n // 32, Edge("cold", n)),
        far("store", "write", n // 32, Edge("cold", n)),
        far("again", "read", n // 32, Edge("thread", n, "load")),
        far("store_again", "write", n // 32, Edge("cold", n)),
    ]


@benchmark("scopes", (8,))
def warp_same_inst(blocks: int) -> Graph:
    """A word for each warp: its lowest lane meets nothing, the others that lane."""
    n = 128 * blocks
    warps = n // 32
    labels = (Edge("cold", warps), Edge("warp_same_inst", 31 * warps, "load"))
    return [
        far("load", "read", warps, *labels, addresses=1, sectors=1),
        far("store", "write", warps, Edge("cold", n)),
    ]


@benchmark("scopes", (8,))
def warp_diff_inst(blocks: int) -> Graph:
    n = 128 * blocks
    return [
        far("write", "write", n // 32, Edge("cold", n)),
        far("read", "read", n // 32, Edge("warp_diff_inst", n, "write", unordered=0)),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


@benchmark("scopes", (8,))
def block(blocks: int) -> Graph:
    n = 128 * blocks
    return [
        far("write", "write", n // 32, Edge("cold", n)),
        far("read", "read", n // 32, Edge("block", n, "write", unordered=0)),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


@benchmark("scopes", (8,))
def grid(blocks: int) -> Graph:
    """A table of 128 words: whichever block comes first, the others find it touched."""
    n = 128 * blocks
    return [
        far("load", "read", n // 32, Edge("cold", 128), Edge("grid", n - 128, "load")),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


@benchmark("scopes", (16,))
def last_block(blocks: int) -> Graph:
    """Whichever block is last, it finds its own word and those of the others."""
    n = 32 * blocks
    tickets = (Edge("cold", 1), Edge("grid", blocks - 1, "ticket"))
    return [
        far("write", "write", blocks, Edge("cold", n)),
        far("ticket", "atomic", blocks, *tickets, lanes=1, sectors=1),
        far("read", "read", blocks, Edge("thread", 32, "write"), Edge("grid", n - 32, "write")),
        far("store", "write", 1, Edge("cold", 32)),
    ]
