"""What each example plants: the formulae of the comments at their heads, for the sizes that the tests use.

Each function returns the expected accesses by kernel. ``ARGUMENTS`` are the sizes, given to the programs too.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from harness.planted import Access

if TYPE_CHECKING:
    from collections.abc import Callable

Expected = dict[str, list[Access]]


def floats(
    line: str, kind: str, labels: dict[str, int], executions: int, *, space: str = "global", size: int = 4
) -> Access:
    """Full warps on consecutive elements of ``size`` bytes, aligned to their whole."""
    if space == "global":
        sectors = max(1, size)
        return Access(line, space, kind, labels, executions, size, lanes=32, addresses=32, sectors=sectors)
    turns = max(1, size // 4)
    return Access(
        line,
        space,
        kind,
        labels,
        executions,
        size,
        32,
        words=32 * turns,
        wavefronts=turns,
        ideal_wavefronts=turns,
    )


def labels(blocks: int) -> Expected:
    """Six labels, each on its own line."""
    n, warps = 128 * blocks, 4 * blocks
    return {
        "labels": [
            floats("cold", "read", {"cold": 4 * n}, warps),
            floats("thread", "read", {"thread from cold": 4 * n}, warps),
            Access(
                "same",
                "global",
                "read",
                {"thread from thread": 4 * warps, "warp_same_inst from same": 124 * warps},
                warps,
                4,
                lanes=32,
                addresses=1,
                sectors=1,
            ),
            floats(
                "diff",
                "read",
                {"warp_diff_inst from thread": 124 * warps, "warp_diff_inst from same": 4 * warps},
                warps,
            ),
            floats("block", "read", {"block from diff": 4 * n}, warps),
            floats("grid", "read", {"cold": 512, "grid from grid": 512 * (blocks - 1)}, warps),
            floats("store", "write", {"cold": 4 * n}, warps),
        ]
    }


def softmax(rows: int, columns: int) -> Expected:
    """Broadcast buffer and thread-private buffer."""
    warps, row_warps, row_bytes = 8, rows * columns // 32, 4 * rows * columns

    def broadcast(line: str, kind: str, origin: str) -> Access:
        words = 4 * rows * warps
        if kind == "write":
            one = {"cold": words} if not origin else {f"block from {origin}": words}
            ordered: dict[str, int | None] = {} if not origin else {"block": 0}
            return Access(
                line, "shared", "write", one, rows * warps, 4, 1, None, None, 1, 1, 1, unordered=ordered
            )
        return Access(
            line,
            "shared",
            "read",
            {
                f"block from {origin}": words,
                f"block from {line}": words * (warps - 2),
                f"warp_same_inst from {line}": 31 * words * (warps - 1),
            },
            rows * warps * (warps - 1),
            4,
            lanes=32,
            words=1,
            wavefronts=1,
            ideal_wavefronts=1,
            unordered={f"block from {origin}": 0},
        )

    def private(line: str, kind: str, label: str) -> Access:
        return floats(line, kind, {label: row_bytes}, row_warps, space="shared")

    return {
        "softmax": [
            floats("load", "read", {"cold": row_bytes}, row_warps),
            private("keep", "write", "cold"),
            broadcast("greatest_store", "write", ""),
            broadcast("greatest_load", "read", "greatest_store"),
            private("again", "read", "thread from keep"),
            private("exponential", "write", "thread from again"),
            broadcast("sum_store", "write", "greatest_load"),
            broadcast("sum_load", "read", "sum_store"),
            private("last", "read", "thread from exponential"),
            floats("store", "write", {"cold": row_bytes}, row_warps),
        ]
    }


def matmul(n: int) -> Expected:
    """Tiles of 32 x 32."""
    tiles = n // 32
    blocks, steps, size = tiles**2, tiles**3, 4 * n * n
    later = steps - blocks
    first = {"cold": 4096 * blocks}
    fetched = {"cold": size, "grid": size * (tiles - 1)}
    return {
        "matmul": [
            floats("load_a", "read", fetched, 32 * steps),
            floats("load_b", "read", fetched, 32 * steps),
            floats(
                "keep_a",
                "write",
                {**first, "thread from read_a": 128 * later, "warp_diff_inst from read_a": 3968 * later},
                32 * steps,
                space="shared",
            ),
            floats(
                "keep_b",
                "write",
                {**first, "thread|block from read_b": 4096 * later},
                32 * steps,
                space="shared",
            ),
            Access(
                "read_a",
                "shared",
                "read",
                {
                    "thread from keep_a": 128 * steps,
                    "warp_diff_inst from keep_a": 3968 * steps,
                    "warp_same_inst from read_a": 126976 * steps,
                },
                lanes=32,
            ),
            Access("read_b", "shared", "read", {"thread|block": 131072 * steps}, lanes=32),
            floats("store", "write", {"cold": size}, n * n // 32),
        ]
    }


def stencil(n: int) -> Expected:
    """Tiles of 32 x 8 with their halo."""
    blocks = n * n // 256
    width, points = 34, 340
    sectors: Counter[int] = Counter()
    lanes: Counter[int] = Counter()
    for block in range(blocks):
        across = n // 32
        start = (block // across * 8) * (n + 2) + block % across * 32
        for first in range(0, points, 32):
            places = [start + i // width * (n + 2) + i % width for i in range(first, min(first + 32, points))]
            lanes[len(places)] += 1
            sectors[len({place // 8 for place in places})] += 1
    tile = Access(
        "keep",
        "shared",
        "write",
        {"cold": 4 * points * blocks},
        sum(lanes.values()),
        4,
        lanes,
        words=lanes,
        wavefronts=1,
        ideal_wavefronts=1,
    )
    reads = [
        floats(line, "read", {"thread|warp_diff_inst|block": 4 * n * n}, n * n // 32, space="shared")
        for line in ("centre", "north", "south", "west", "east")
    ]
    distinct = 4 * (n + 2) ** 2
    return {
        "stencil": [
            Access(
                "load",
                "global",
                "read",
                {"cold": distinct, "grid from load": 4 * points * blocks - distinct},
                sum(lanes.values()),
                4,
                lanes,
                addresses=lanes,
                sectors=sectors,
            ),
            tile,
            *reads,
            floats("store", "write", {"cold": 4 * n * n}, n * n // 32),
        ]
    }


def reduction(blocks: int) -> Expected:
    """Tree of 256."""
    lanes = {32: 7 * blocks, 16: blocks, 8: blocks, 4: blocks, 2: blocks, 1: blocks}

    def step(line: str, kind: str, labels: dict[str, int]) -> Access:
        return Access(
            line, "shared", kind, labels, 12 * blocks, 4, lanes, words=lanes, wavefronts=1, ideal_wavefronts=1
        )

    return {
        "reduction": [
            floats("load", "read", {"cold": 1024 * blocks}, 8 * blocks),
            floats("keep", "write", {"cold": 1024 * blocks}, 8 * blocks, space="shared"),
            step(
                "other",
                "read",
                {
                    "block from keep": 512 * blocks,
                    "block from add": 384 * blocks,
                    "warp_diff_inst from add": 124 * blocks,
                },
            ),
            step("mine", "read", {"thread from keep": 512 * blocks, "thread from add": 508 * blocks}),
            step("add", "write", {"thread from mine": 1020 * blocks}),
            Access("result", "shared", "read", {"thread from add": 4 * blocks}, blocks, 4, 1, wavefronts=1),
            Access("store", "global", "write", {"cold": 4 * blocks}, blocks, 4, 1, 1, 1),
        ]
    }


def histogram(blocks: int, *, spread: bool = False) -> Expected:
    """Contended or spread atomics."""
    warps, bins = 8 * blocks, 1024
    if spread:
        direct = floats("direct", "atomic", {"cold": bins, "grid": bins * (blocks - 1)}, warps)
        count = floats("count", "atomic", {"thread from clear": bins * blocks}, warps, space="shared")
        collect = {"thread from count": bins * blocks}
    else:
        direct = Access(
            "direct",
            "global",
            "atomic",
            {"cold": 4, "block|grid": 4 * (warps - 1), "warp_same_inst": 124 * warps},
            warps,
            4,
            lanes=32,
            addresses=1,
            sectors=1,
        )
        count = Access(
            "count",
            "shared",
            "atomic",
            {"warp_diff_inst|block": 4 * warps, "warp_same_inst": 124 * warps},
            warps,
            4,
            lanes=32,
            words=1,
            wavefronts=1,
            ideal_wavefronts=1,
        )
        collect = {"thread from clear": (bins - 4) * blocks, "warp_diff_inst|block from count": 4 * blocks}
    return {
        "histogram_global": [floats("load", "read", {"cold": 256 * blocks}, warps, size=1), direct],
        "histogram_shared": [
            floats("shared_load", "read", {"cold": 256 * blocks}, warps, size=1),
            floats("clear", "write", {"cold": bins * blocks}, warps, space="shared"),
            count,
            floats("collect", "read", collect, warps, space="shared"),
            floats("merge", "atomic", {"cold": bins, "grid from merge": bins * (blocks - 1)}, warps),
        ],
    }


def async_copy(blocks: int, tiles: int) -> Expected:
    """Pipeline of 16-byte asynchronous copies."""
    step, warps = 2048 * blocks, 4 * blocks

    def wide(
        line: str,
        space: str,
        kind: str,
        labels: dict[str, int],
        *,
        copied: bool = False,
        unordered: int | None = None,
    ) -> Access:
        known = {} if unordered is None else dict.fromkeys(labels, unordered)
        executions = sum(labels.values()) // 512
        if space == "global":
            return Access(line, space, kind, labels, executions, 16, 32, 32, 16, asynchronous=copied)
        return Access(
            line,
            space,
            kind,
            labels,
            executions,
            16,
            32,
            None,
            None,
            128,
            4,
            4,
            unordered=known,
            asynchronous=copied,
        )

    def neighbours(origin: str, steps: int) -> dict[str, int]:
        return {
            f"warp_diff_inst from {origin}": step * steps // 32 * 31,
            f"block from {origin}": step * steps // 32,
        }

    assert warps * 512 == step
    return {
        "pipeline": [
            wide("copy_first", "global", "read", {"cold": step}, copied=True),
            wide("copy_first", "shared", "write", {"cold": step}, copied=True),
            wide("copy_next", "global", "read", {"cold": step * (tiles - 1)}, copied=True),
            wide(
                "copy_next",
                "shared",
                "write",
                {"cold": step, **neighbours("neighbour", tiles - 2)},
                copied=True,
            ),
            wide(
                "neighbour",
                "shared",
                "read",
                {**neighbours("copy_first", 1), **neighbours("copy_next", tiles - 1)},
                unordered=0,
            ),
            wide("store", "global", "write", {"cold": step * tiles}),
        ]
    }


def transpose(n: int) -> Expected:
    """Tiles with and without padding."""
    size, warps = 4 * n * n, n * n // 32

    def kernel(wavefronts: int) -> list[Access]:
        return [
            floats("load", "read", {"cold": size}, warps),
            floats("keep", "write", {"cold": size}, warps, space="shared"),
            Access(
                "turn",
                "shared",
                "read",
                {
                    "thread from keep": 4 * warps,
                    "warp_diff_inst from keep": 12 * warps,
                    "block from keep": 112 * warps,
                },
                warps,
                4,
                lanes=32,
                words=32,
                wavefronts=wavefronts,
                ideal_wavefronts=1,
                unordered={"block": 0},
            ),
            floats("store", "write", {"cold": size}, warps),
        ]

    return {"transpose_unpadded": kernel(32), "transpose_padded": kernel(1)}


def half_rows(rows: int, columns: int) -> Expected:
    """Halves and pairs of halves."""
    size, pairs = 2 * rows * columns, rows * columns // 64
    return {
        "half_rows": [
            floats("first", "read", {"cold": size}, 2 * pairs, size=2),
            floats(
                "second",
                "read",
                {"thread from first": 4 * pairs, "warp_diff_inst from first": 124 * pairs},
                pairs,
            ),
            floats("weight", "read", {"cold": 2 * columns, "block|grid": 2 * columns * (rows - 1)}, pairs),
            floats("store", "write", {"cold": size}, pairs),
        ]
    }


def bytes_(blocks: int) -> Expected:
    """All widths on the same bytes."""

    def access(
        line: str, kind: str, size: int, lanes: int, *, sectors: int, labels: dict[str, int]
    ) -> Access:
        total = {label: count * blocks for label, count in labels.items()}
        executions = sum(total.values()) // (size * lanes)
        return Access(line, "global", kind, total, executions, size, lanes, lanes, sectors)

    return {
        "bytes": [
            access("single", "write", 1, 32, sectors=1, labels={"cold": 128}),
            access(
                "word",
                "read",
                4,
                32,
                sectors=4,
                labels={"thread from single": 1, "warp_diff_inst from single": 31, "block from single": 96},
            ),
            access(
                "vector",
                "read",
                16,
                8,
                sectors=4,
                labels={"thread from word": 4, "warp_diff_inst from word": 124},
            ),
            access(
                "pair",
                "write",
                2,
                32,
                sectors=2,
                labels={"thread from vector": 2, "warp_diff_inst from vector": 62, "block from vector": 64},
            ),
            access(
                "half",
                "read",
                8,
                16,
                sectors=4,
                labels={"thread from pair": 2, "warp_diff_inst from pair": 62, "block from pair": 64},
            ),
            access("store", "write", 8, 16, sectors=4, labels={"cold": 128}),
        ]
    }


# Program: its arguments, and what they make it plant.
ARGUMENTS: dict[str, tuple[list[str], Callable[[], Expected]]] = {
    "labels": (["8"], lambda: labels(8)),
    "softmax": (["8", "1024"], lambda: softmax(8, 1024)),
    "matmul": (["96"], lambda: matmul(96)),
    "stencil": (["64"], lambda: stencil(64)),
    "reduction": (["16"], lambda: reduction(16)),
    "histogram": (["16"], lambda: histogram(16)),
    "histogram --spread": (["16", "--spread"], lambda: histogram(16, spread=True)),
    "async_copy": (["8", "8"], lambda: async_copy(8, 8)),
    "transpose": (["64"], lambda: transpose(64)),
    "half_rows": (["16", "512"], lambda: half_rows(16, 512)),
    "bytes": (["16"], lambda: bytes_(16)),
}
