"""Graphs of the kernels in shapes.cu: grids, blocks and warps of all shapes."""

from __future__ import annotations

from collections import Counter

from micro.graph import Edge, Graph, Histogram, benchmark, far, near, span


def warps_of(threads: int) -> list[range]:
    """Threads of a block, warp by warp; the last warp may be partly there."""
    return [range(first, min(first + 32, threads)) for first in range(0, threads, 32)]


def side_by_side(blocks: int, threads: int) -> tuple[Histogram, Histogram]:
    """Lanes and sectors where the blocks' words follow each other without gaps."""
    lanes: Counter[int] = Counter()
    sectors: Counter[int] = Counter()
    for block in range(blocks):
        for warp in warps_of(threads):
            lanes[len(warp)] += 1
            sectors[span(4 * (block * threads + warp.start), 4 * len(warp))] += 1
    return lanes, sectors


@benchmark("shapes", (4, 3, 5), (8, 4, 3), (3, 11, 2))
def three_dimensions(x: int, y: int, z: int) -> Graph:
    """12 blocks. A thread and the one 32 further on are in one warp only where the count starts anew."""
    threads, blocks = x * y * z, 12
    labels: Counter[str] = Counter()
    wavefronts: Counter[int] = Counter()
    for warp in warps_of(threads):
        slots = [(thread + 32) % threads for thread in warp]
        wavefronts[max(Counter(slot % 32 for slot in slots).values())] += blocks
        for thread, slot in zip(warp, slots, strict=True):
            labels["warp_diff_inst" if thread // 32 == slot // 32 else "block"] += blocks
    lanes, sectors = side_by_side(blocks, threads)
    times = sum(lanes.values())
    reads = [Edge(label, n, "write", unordered=0) for label, n in labels.items()]
    return [
        near("write", "write", times, Edge("cold", threads * blocks), lanes=lanes, words=lanes),
        near("read", "read", times, *reads, lanes=lanes, words=lanes, wavefronts=wavefronts),
        far("store", "write", times, Edge("cold", threads * blocks), lanes=lanes, sectors=sectors),
    ]


@benchmark("shapes", (8, 1), (8, 31), (8, 33), (8, 100), (4, 1023))
def odd_block(blocks: int, threads: int) -> Graph:
    lanes, sectors = side_by_side(blocks, threads)
    times, n = sum(lanes.values()), blocks * threads
    return [
        far("load", "read", times, Edge("cold", n), lanes=lanes, sectors=sectors),
        far("store", "write", times, Edge("cold", n), lanes=lanes, sectors=sectors),
    ]


@benchmark("shapes", (1000,), (1029,))
def tail(size: int) -> Graph:
    rest = size % 32
    lanes = {32: size // 32, rest: 1}
    sectors = Counter({4: size // 32})
    sectors[span(0, 4 * rest)] += 1
    times = size // 32 + 1
    return [
        far("load", "read", times, Edge("cold", size), lanes=lanes, sectors=sectors),
        far("store", "write", times, Edge("cold", size), lanes=lanes, sectors=sectors),
    ]


@benchmark("shapes", (8,))
def divergent(blocks: int) -> Graph:
    """16 lanes each way, with every other word (pair of words) of 128 (256) bytes."""
    n = 128 * blocks
    times, half = n // 32, Edge("cold", n // 2)
    return [
        far("even", "read", times, half, lanes=16, sectors=4),
        far("store_even", "write", times, half, lanes=16, sectors=4),
        far("odd", "read", times, half, size=8, lanes=16, sectors=8),
        far("store_odd", "write", times, half, lanes=16, sectors=4),
    ]


@benchmark("shapes", (4,))
def triangle(blocks: int) -> Graph:
    """In round r lanes r to 31 are left."""
    warps = 2 * blocks
    lanes = {32 - r: warps for r in range(32)}
    sectors: Counter[int] = Counter()
    for r in range(32):
        sectors[4 - r // 8] += warps
    return [
        far("load", "read", 32 * warps, Edge("cold", 528 * warps), lanes=lanes, sectors=sectors),
        far("store", "write", warps, Edge("cold", 32 * warps)),
    ]


@benchmark("shapes", (8,))
def odd_warps(blocks: int) -> Graph:
    """Two of four warps; the others, without an active lane, make no access."""
    return [
        far("load", "read", 2 * blocks, Edge("cold", 64 * blocks)),
        far("store", "write", 2 * blocks, Edge("cold", 64 * blocks)),
    ]


@benchmark("shapes", (64, 16), (64, 1))
def early_exit(blocks: int, stay: int) -> Graph:
    times, n = 2 * blocks, 2 * stay * blocks
    return [
        near("write", "write", times, Edge("cold", n), lanes=stay, words=stay),
        near("read", "read", times, Edge("block", n, "write", unordered=0), lanes=stay, words=stay),
        far("store", "write", times, Edge("cold", n), lanes=stay, sectors=span(0, 4 * stay)),
    ]


@benchmark("shapes", (4,))
def full_block(blocks: int) -> Graph:
    n = 1024 * blocks
    return [
        near("write", "write", n // 32, Edge("cold", n)),
        near("read", "read", n // 32, Edge("block", n, "write", unordered=0)),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


def many(blocks: int, slots: int) -> Graph:
    labels = (Edge("cold", 32 * slots), Edge("grid", 32 * (blocks - slots), "write"))
    return [far("write", "write", blocks, *labels)]


@benchmark("shapes", (3000, 512))
def many_blocks(blocks: int, slots: int) -> Graph:
    """``slots`` stretches of memory, touched by block after block."""
    return many(blocks, slots)


@benchmark("shapes", (300_000, 32_768), recorded=False)
def many_blocks_(blocks: int, slots: int) -> Graph:
    return many(blocks, slots)


@benchmark("shapes", (2, 100), (2, 227))
def large_shared(blocks: int, kibibytes: int) -> Graph:
    words = 256 * kibibytes * blocks
    return [
        near("write", "write", words // 32, Edge("cold", words)),
        near("read", "read", words // 32, Edge("block", words, "write", unordered=0)),
        far("store", "write", 32 * blocks, Edge("cold", 1024 * blocks)),
    ]
