"""Graphs of the kernels in sharing.cu: lanes, warps and blocks at the same words."""

from __future__ import annotations

from micro.graph import Edge, Graph, benchmark, far, near

# n threads, in warps of 32.


def some(*edges: Edge) -> tuple[Edge, ...]:
    """Leave out edges without lanes."""
    return tuple(edge for edge in edges if edge.lanes)


@benchmark("sharing", (8, 2), (8, 8), (8, 32))
def multicast(blocks: int, share: int) -> Graph:
    n, words = 128 * blocks, 32 // share
    warps = n // 32
    loads = (Edge("cold", words * warps), Edge("warp_same_inst", (32 - words) * warps, "load"))
    return [
        far("load", "read", warps, *loads, addresses=words, sectors=-(-4 * words // 32)),
        far("store", "write", warps, Edge("cold", n)),
    ]


@benchmark("sharing", (8,))
def squares(blocks: int) -> Graph:
    """The squares modulo 32 are 0, 1, 4, 9, 16, 17 and 25: seven words in four sectors."""
    n = 128 * blocks
    warps = n // 32
    words = {lane * lane % 32 for lane in range(32)}
    loads = (Edge("cold", len(words) * warps), Edge("warp_same_inst", (32 - len(words)) * warps, "load"))
    sectors = len({word // 8 for word in words})
    return [
        far("load", "read", warps, *loads, addresses=len(words), sectors=sectors),
        far("store", "write", warps, Edge("cold", n)),
    ]


@benchmark("sharing", (8,))
def wide_broadcast(blocks: int) -> Graph:
    n = 128 * blocks
    warps = n // 32
    loads = (Edge("cold", warps), Edge("warp_same_inst", 31 * warps, "move"))
    return [
        far("move", "read", warps, *loads, size=16, addresses=1, sectors=1),
        far("move", "write", warps, Edge("cold", n), size=16),
    ]


@benchmark("sharing", (1, 8), (16, 1))
def one_word(blocks: int, warps: int) -> Graph:
    """Whichever warp is first; the others are in its block or are blocks of their own."""
    assert 1 in {blocks, warps}
    times = blocks * warps
    loads = some(
        Edge("cold", 1),
        Edge("warp_same_inst", 31 * times, "load"),
        Edge("block", warps - 1, "load"),
        Edge("grid", blocks - 1, "load"),
    )
    return [
        far("load", "read", times, *loads, addresses=1, sectors=1),
        far("store", "write", times, Edge("cold", 32 * times)),
    ]


@benchmark("sharing", (8,))
def last_lane(blocks: int) -> Graph:
    """Of the lanes that write a word the highest is remembered; it then meets itself, and lane 0 meets it."""
    warps = 4 * blocks
    collisions = (Edge("cold", warps), Edge("warp_same_inst", 31 * warps, "collide"))
    reads = (Edge("warp_diff_inst", warps, "last"), Edge("warp_same_inst", 31 * warps, "all"))
    return [
        far("collide", "write", warps, *collisions, addresses=1, sectors=1),
        far("last", "read", warps, Edge("thread", warps, "collide"), lanes=1, sectors=1),
        far("all", "read", warps, *reads, addresses=1, sectors=1),
        far("store", "write", warps, Edge("cold", 32 * warps)),
    ]


@benchmark("sharing", (16,))
def atomic_one(blocks: int) -> Graph:
    adds = (
        Edge("cold", 1),
        Edge("grid", blocks - 1, "add"),
        Edge("warp_same_inst", 31 * blocks, "add"),
    )
    return [
        far("load", "read", blocks, Edge("cold", 32 * blocks)),
        far("add", "atomic", blocks, *adds, addresses=1, sectors=1),
    ]


@benchmark("sharing", (8,))
def atomic_own(blocks: int) -> Graph:
    adds = (Edge("cold", 128), Edge("grid", 128 * (blocks - 1), "add"))
    return [far("add", "atomic", 4 * blocks, *adds)]


@benchmark("sharing", (8, 2), (8, 8))
def atomic_share(blocks: int, share: int) -> Graph:
    words = 32 // share
    adds = (Edge("cold", words * blocks), Edge("warp_same_inst", (32 - words) * blocks, "add"))
    return [
        far("add", "atomic", blocks, *adds, addresses=words, sectors=-(-4 * words // 32)),
        far("store", "write", blocks, Edge("cold", 32 * blocks)),
    ]


@benchmark("sharing", (8,))
def atomic_double(blocks: int) -> Graph:
    n = 128 * blocks
    return [
        far("add", "atomic", n // 32, Edge("cold", n), size=8),
        far("add_again", "atomic", n // 32, Edge("warp_diff_inst", n, "add"), size=8),
    ]


@benchmark("sharing", (8,))
def atomic_swap(blocks: int) -> Graph:
    n = 128 * blocks
    return [
        far("swap", "atomic", n // 32, Edge("cold", n), size=8),
        far("store", "write", n // 32, Edge("cold", n), size=8),
    ]


def counted(blocks: int, rounds: int) -> Graph:
    """Lane 0 cleared the word that all add to; from the second round on it meets lane 31 there."""
    adds = some(
        Edge("thread", blocks, "clear"),
        Edge("warp_diff_inst", blocks * (rounds - 1), "add"),
        Edge("warp_same_inst", 31 * blocks * rounds, "add"),
    )
    collected = (
        Edge("warp_diff_inst", blocks, "add", unordered=0),
        Edge("thread", 31 * blocks, "clear"),
    )
    return [
        far("load", "read", blocks, Edge("cold", 32 * blocks)),
        near("clear", "write", blocks, Edge("cold", 32 * blocks)),
        near("add", "atomic", blocks * rounds, *adds, words=1),
        near("collect", "read", blocks, *collected),
        far("store", "write", blocks, Edge("cold", 32 * blocks)),
    ]


@benchmark("sharing", (8, 4))
def atomic_shared(blocks: int, rounds: int) -> Graph:
    return counted(blocks, rounds)


@benchmark("sharing", (8,))
def count_shared(blocks: int) -> Graph:
    return counted(blocks, 1)
