"""What the kernels of ``tests/gpu/kernels`` plant, by kernel; the formulae are those of their sources."""

from __future__ import annotations

from harness.examples import Expected, floats
from harness.planted import Access


def bank_stride() -> Expected:
    """Stride of four words: 4 wavefronts instead of 1."""
    return {
        "bank_stride": [
            Access("write", "shared", "write", {"cold": 256}, 2, 4, 32, None, None, 32, 1, 1),
            Access(
                "read",
                "shared",
                "read",
                {"thread from write": 8, "warp_diff_inst from write": 56, "cold": 192},
                2,
                4,
                32,
                None,
                None,
                32,
                4,
                1,
            ),
            floats("store", "write", {"cold": 256}, 2),
        ]
    }


def copy_stride(stride: int) -> Expected:
    """Every ``stride``-th of 4096 floats."""
    elements = 4096 // stride
    sectors = min(32, 4 * stride)
    warps = elements // 32
    return {
        "copy_stride": [
            Access(line, "global", kind, {"cold": 4 * elements}, warps, 4, 32, 32, sectors)
            for line, kind in (("read", "read"), ("write", "write"))
        ]
    }


def accumulate(repeats: int) -> Expected:
    """``y[i] += g[r]`` in global memory."""
    n, warps = 512, 16
    return {
        "accumulate": [
            floats(
                "load", "read", {"cold": 4 * n, "thread from store": 4 * n * (repeats - 1)}, warps * repeats
            ),
            floats("store", "write", {"thread from load": 4 * n * repeats}, warps * repeats),
            Access(
                "gain",
                "global",
                "read",
                {
                    "warp_same_inst": 124 * warps * repeats,
                    "cold": 4 * repeats,
                    "block|grid": 4 * repeats * (warps - 1),
                },
                warps * repeats,
                4,
                32,
                1,
                1,
            ),
        ]
    }


def publish(*, racy: bool) -> Expected:
    """Two words written by one thread; the last warp reads first."""
    name = "publish_racy" if racy else "publish"
    unordered = 4 if racy else 0

    def write(line: str) -> Access:
        return Access(line, "shared", "write", {"cold": 4}, 1, 4, 1, None, None, 1, 1, 1)

    return {
        name: [
            write("first"),
            write("second"),
            Access(
                "read",
                "shared",
                "read",
                {
                    "block from first": 4,
                    "block from second": 4,
                    "block from read": 24,
                    "warp_same_inst": 992,
                },
                unordered={"block from first": unordered, "block from second": unordered},
            ),
            floats("store", "write", {"cold": 512}, 4),
        ]
    }


def tiles(steps: int) -> Expected:
    """Write own slot, barrier, read the slot of the warp beside, barrier."""
    return {
        "tiles": [
            floats(
                "write",
                "write",
                {"cold": 512, "block from neighbour": 512 * (steps - 1)},
                4 * steps,
                space="shared",
            ),
            floats("neighbour", "read", {"block from write": 512 * steps}, 4 * steps, space="shared"),
            floats("sum", "write", {"cold": 512}, 4),
        ]
    }


def late_commit() -> Expected:
    """An asynchronous copy that nothing waits for."""
    return {
        "late_commit": [
            Access("copy", "global", "read", {"cold": 2048}, 4, 16, 32, 32, 16, asynchronous=True),
            Access("copy", "shared", "write", {"cold": 2048}, 4, 16, 32, wavefronts=4, asynchronous=True),
            Access(
                "read",
                "shared",
                "read",
                {"block from copy": 2048},
                4,
                16,
                32,
                wavefronts=4,
                unordered={"block from copy": 2048},
            ),
            Access("read", "global", "write", {"cold": 2048}, 4, 16, 32, 32, 16),
        ]
    }


def many_blocks(blocks: int) -> Expected:
    """Block b writes slot b mod 2^22."""
    slots = min(blocks, 1 << 22)
    return {
        "many_blocks": [
            Access(
                "write",
                "global",
                "write",
                {"cold": 4 * slots, "grid from write": 4 * (blocks - slots)},
                blocks,
                4,
                1,
                1,
                1,
            )
        ]
    }


def large_shared(blocks: int) -> Expected:
    """160 KiB of shared memory, each word read by another warp."""
    size = 160 * 1024 * blocks
    return {
        "large_shared": [
            floats("write", "write", {"cold": size}, size // 128, space="shared"),
            floats("read", "read", {"block from write": size}, size // 128, space="shared"),
            floats("store", "write", {"cold": 4096 * blocks}, 32 * blocks),
        ]
    }


def own_slot(blocks: int) -> Expected:
    """Shared memory that only ever serves one thread."""
    return {
        "own_slot": [
            floats("write", "write", {"cold": 1024 * blocks}, 8 * blocks, space="shared"),
            floats("read", "read", {"thread from write": 1024 * blocks}, 8 * blocks, space="shared"),
            floats("store", "write", {"cold": 1024 * blocks}, 8 * blocks),
        ]
    }


def mixed_widths() -> Expected:
    """A byte stored, the word around it read."""

    def one(line: str, space: str, kind: str, size: int, labels: dict[str, int]) -> Access:
        return Access(line, space, kind, labels, 1, size, 1)

    return {
        "mixed_widths": [
            one("store_global", "global", "write", 1, {"cold": 1}),
            one("store_shared", "shared", "write", 1, {"cold": 1}),
            one("load_global", "global", "read", 4, {"block from store_global": 1, "cold": 3}),
            one("load_shared", "shared", "read", 4, {"block from store_shared": 1, "cold": 3}),
            one("store", "global", "write", 4, {"cold": 4}),
        ]
    }


def two_regions() -> Expected:
    """A warp over two allocations."""
    return {
        "two_regions": [
            Access("first", "global", "read", {"cold": 128}, 1, 4, 32, 32, 4),
            Access("second", "global", "read", {"thread from first": 128}, 1, 4, 32, 32, 4),
            floats("store", "write", {"cold": 128}, 1),
        ]
    }


def wide_broadcast() -> Expected:
    """One 16-byte word for a warp."""
    return {
        "wide_broadcast": [
            Access("write", "global", "write", {"cold": 16}, 1, 16, 1, 1, 1),
            Access(
                "read",
                "global",
                "read",
                {"warp_diff_inst from write": 16, "warp_same_inst from read": 496},
                1,
                16,
                32,
                1,
                1,
            ),
            Access("store", "global", "write", {"cold": 512}, 1, 16, 32, 32, 16),
        ]
    }


def unused_word() -> Expected:
    """Loads of four words of which three are used."""
    return {
        "unused_word": [
            Access("stage", "global", "read", {"cold": 512}, 1, 16, 32, 32, 16),
            Access("stage", "shared", "write", {"cold": 512}, 1, 16, 32, None, None, 128, 4, 4),
            Access("three", "global", "read", {"cold": 512}, 1, 16, 32, 32, 16),
            Access(
                "read", "shared", "read", {"warp_diff_inst from stage": 512}, 1, 16, 32, None, None, 128, 4, 4
            ),
            floats("store", "write", {"cold": 128}, 1),
        ]
    }


def early_exit(blocks: int) -> Expected:
    """32 of 96 threads stay."""
    size = 128 * blocks
    return {
        "early_exit": [
            Access("write", "shared", "write", {"cold": size}, 2 * blocks, 4, 16, None, None, 16, 1, 1),
            Access(
                "read", "shared", "read", {"block from write": size}, 2 * blocks, 4, 16, None, None, 16, 1, 1
            ),
        ]
    }


def reused_address() -> list[Access]:
    """Each launch of the kernel: cold, then thread."""
    return [
        floats("first", "read", {"cold": 2048}, 16),
        floats("second", "read", {"thread from first": 2048}, 16),
        floats("store", "write", {"cold": 2048}, 16),
    ]


def increment(read: str = "read", write: str = "write") -> list[Access]:
    """1024 words read and written in place by as many threads."""
    return [
        floats(read, "read", {"cold": 4096}, 32),
        floats(write, "write", {f"thread from {read}": 4096}, 32),
    ]


def cooperative(blocks: int) -> Expected:
    """Each block reads what another wrote before the grid-wide barrier."""
    return {
        "cooperative": [
            floats("write", "write", {"cold": 512 * blocks}, 4 * blocks),
            floats("read", "read", {"grid from write": 512 * blocks}, 4 * blocks),
            floats("store", "write", {"cold": 512 * blocks}, 4 * blocks),
        ]
    }


def local_array(blocks: int) -> Expected:
    """An array a thread, indexed by what is not known before."""
    threads, warps = 64 * blocks, 2 * blocks

    def own(line: str, kind: str, labels: dict[str, int]) -> Access:
        return Access(line, "local", kind, labels, 8 * warps, 4, 32, 32, 4)

    def order(line: str) -> Access:
        return Access(
            line, "global", "read", {"cold|thread|block|grid|warp_same_inst|warp_diff_inst": 32 * threads}
        )

    return {
        "local_array": [
            order("order"),
            own("write", "write", {"cold": 32 * threads}),
            order("again"),
            own("read", "read", {"thread from write": 32 * threads}),
            floats("store", "write", {"cold": 4 * threads}, warps),
        ]
    }


def load_matrix() -> Expected:
    """Matrices of halves, four at once and two at once."""
    return {
        "load_matrix": [
            Access("write", "shared", "write", {"cold": 512}, 1, 16, 32, None, None, 128, 4, 4),
            Access(
                "four", "shared", "read", {"warp_diff_inst from write": 512}, 1, 16, 32, None, None, 128, 4, 4
            ),
            Access("two", "shared", "read", {"thread from four": 256}, 1, 16, 16, None, None, 64, 2, 2),
            floats("store", "write", {"cold": 128}, 1),
        ]
    }


def zero_fill() -> Expected:
    """Asynchronous copies that bring less than they write."""

    def kernel(lanes: int, size: int, sectors: int) -> list[Access]:
        return [
            Access("copy", "global", "read", {"cold": size}, 1, 16, lanes, lanes, sectors, asynchronous=True),
            Access("copy", "shared", "write", {"cold": 512}, 1, 16, 32, wavefronts=4, asynchronous=True),
            Access("read", "shared", "read", {"warp_diff_inst from copy": 512}, 1, 16, 32, wavefronts=4),
            Access("read", "global", "write", {"cold": 512}, 1, 16, 32, 32, 16),
        ]

    return {"zero_fill": kernel(8, 128, 4), "part_fill": kernel(16, 192, 8)}


def visit(rounds: int) -> Expected:
    """One of the launches that run at once on the same words."""
    return {
        "visit": [
            floats("read", "read", {"cold": 4096}, 32),
            floats(
                "write",
                "write",
                {"thread from read": 4096, "thread from write": 4096 * (rounds - 1)},
                32 * rounds,
            ),
        ]
    }


def graph_step() -> list[Access]:
    """Read and write; what is kept in local memory in between is not planted."""
    return [
        floats("read", "read", {"cold": 4096}, 32),
        floats("write", "write", {"thread from read": 4096}, 32),
    ]


def cluster_neighbours(across: int) -> Expected:
    """Clusters of two by two blocks, in a grid four blocks high."""
    blocks = 8 * across
    size, warps = 512 * blocks, 4 * blocks
    return {
        "cluster_neighbours": [
            floats("write", "write", {"cold": size}, warps),
            floats("read", "read", {"cluster from write": size}, warps),
            floats("first", "read", {"cold": 512, "cluster|grid from first": 512 * (blocks - 1)}, warps),
            floats("first", "write", {"cold": size}, warps),
        ]
    }


def persistent_work(items: int) -> list[Access]:
    """Pieces of 128 words, fetched by whichever block comes first."""
    size, warps = 512 * items, 4 * items
    return [
        floats("read", "read", {"cold": size}, warps),
        floats("write", "write", {"thread from read": size}, warps),
    ]
