"""The kernels of the examples once more, warp by warp, as the accesses that they make.

The warps are taken in random order, as far as barriers allow.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cuvein.vocabulary import AccessType, RecordFlag, RecordKind, Space
from harness import examples
from reference.records import FULL, Record

READ, WRITE, ATOMIC = AccessType.READ, AccessType.WRITE, AccessType.ATOMIC
GLOBAL, SHARED = Space.GLOBAL, Space.SHARED
REGION = 1 << 32  # distance between the arrays of a kernel


@dataclass(frozen=True)
class Step:
    """One execution by a warp: the planted line, and the first byte of each active lane."""

    line: str
    space: Space
    type: AccessType
    size: int
    starts: dict[int, int]
    asynchronous: bool = False


@dataclass(frozen=True)
class Group:
    """Asynchronous copies so far are committed as a group, or waited for until so many groups are left."""

    left: int | None = None


BARRIER = None
Program = Callable[[int, int], Iterator[Step | Group | None]]


def near(line: str, kind: AccessType, starts: dict[int, int], size: int = 4) -> Step:
    """Make an access to shared memory; element indices."""
    return Step(line, SHARED, kind, size, {lane: size * i for lane, i in starts.items()})


def far(line: str, kind: AccessType, array: int, starts: dict[int, int], size: int = 4) -> Step:
    """Make an access to global memory; element indices of one of the kernel's arrays."""
    return Step(line, GLOBAL, kind, size, {lane: array * REGION + size * i for lane, i in starts.items()})


def lanes(start: int, step: int = 1, count: int = 32) -> dict[int, int]:
    return {lane: start + step * lane for lane in range(count)}


def labels(block: int, warp: int) -> Iterator[Step | None]:
    first = block * 128 + warp * 32
    yield far("cold", READ, 1, lanes(first))
    yield far("thread", READ, 1, lanes(first))
    yield far("same", READ, 1, lanes(first, 0))
    yield far("diff", READ, 1, {lane: first + (lane ^ 1) for lane in range(32)})
    yield BARRIER
    yield far("block", READ, 1, lanes(first ^ 32))
    yield far("grid", READ, 2, lanes(warp * 32))
    yield far("store", WRITE, 3, lanes(first))


def softmax(columns: int, *, racy: bool = False) -> Program:
    def program(block: int, warp: int) -> Iterator[Step | None]:
        columns_of_warp = range(warp * 32, columns, 256)
        for column in columns_of_warp:
            yield far("load", READ, 1, lanes(block * columns + column))
            yield near("keep", WRITE, lanes(32 + column))
        yield near("greatest_store", WRITE, {0: warp})
        yield BARRIER
        for other in range(1, 8):
            yield near("greatest_load", READ, lanes((warp + other) % 8, 0))
        if not racy:
            yield BARRIER
        for column in columns_of_warp:
            yield near("again", READ, lanes(32 + column))
            yield near("exponential", WRITE, lanes(32 + column))
        yield near("sum_store", WRITE, {0: warp})
        yield BARRIER
        for other in range(1, 8):
            yield near("sum_load", READ, lanes((warp + other) % 8, 0))
        for column in columns_of_warp:
            yield near("last", READ, lanes(32 + column))
            yield far("store", WRITE, 2, lanes(block * columns + column))

    return program


def matmul(n: int) -> Program:
    def program(block: int, y: int) -> Iterator[Step | None]:
        across = n // 32
        row, column = block // across * 32 + y, block % across * 32
        for start in range(0, n, 32):
            yield far("load_a", READ, 1, lanes(row * n + start))
            yield far("load_b", READ, 2, lanes((start + y) * n + column))
            yield near("keep_a", WRITE, lanes(y * 32))
            yield near("keep_b", WRITE, lanes(1024 + y * 32))
            yield BARRIER
            for k in range(32):
                if k % 4 == 0:  # four at a time, as compilers do
                    yield near("read_a", READ, lanes(y * 8 + k // 4, 0), size=16)
                yield near("read_b", READ, lanes(1024 + k * 32))
            yield BARRIER
        yield far("store", WRITE, 3, lanes(row * n + column))

    return program


def stencil(n: int) -> Program:
    def program(block: int, y: int) -> Iterator[Step | None]:
        left, top = block % (n // 32) * 32, block // (n // 32) * 8
        for first in range(y * 32, 340, 256):
            cells = {lane: first + lane for lane in range(32) if first + lane < 340}
            places = {lane: (top + i // 34) * (n + 2) + left + i % 34 for lane, i in cells.items()}
            yield far("load", READ, 1, places)
            yield near("keep", WRITE, cells)
        yield BARRIER
        here = (y + 1) * 34 + 1
        for line, offset in (("centre", 0), ("north", -34), ("south", 34), ("west", -1), ("east", 1)):
            yield near(line, READ, lanes(here + offset))
        yield far("store", WRITE, 2, lanes((top + y) * n + left))

    return program


def reduction(block: int, warp: int) -> Iterator[Step | None]:
    first = warp * 32
    yield far("load", READ, 1, lanes(block * 256 + first))
    yield near("keep", WRITE, lanes(first))
    yield BARRIER
    step = 128
    while step:
        active = min(32, step - first)
        if active > 0:
            yield near("other", READ, lanes(first + step, 1, active))
            yield near("mine", READ, lanes(first, 1, active))
            yield near("add", WRITE, lanes(first, 1, active))
        yield BARRIER
        step //= 2
    if warp == 0:
        yield near("result", READ, {0: 0})
        yield far("store", WRITE, 2, {0: block})


def histogram_global(*, spread: bool) -> Program:
    def program(block: int, warp: int) -> Iterator[Step | None]:
        yield far("load", READ, 1, lanes(block * 256 + warp * 32), size=1)
        yield far("direct", ATOMIC, 2, lanes(warp * 32) if spread else lanes(5, 0))

    return program


def histogram_shared(*, spread: bool) -> Program:
    def program(block: int, warp: int) -> Iterator[Step | None]:
        yield far("shared_load", READ, 1, lanes(block * 256 + warp * 32), size=1)
        yield near("clear", WRITE, lanes(warp * 32))
        yield BARRIER
        yield near("count", ATOMIC, lanes(warp * 32) if spread else lanes(5, 0))
        yield BARRIER
        yield near("collect", READ, lanes(warp * 32))
        yield far("merge", ATOMIC, 2, lanes(warp * 32))

    return program


def async_copy(tiles: int) -> Program:
    def copy(line: str, tile: int, block: int, warp: int) -> Iterator[Step]:
        source = far(line, READ, 1, lanes((block * tiles + tile) * 128 + warp * 32), size=16)
        target = near(line, WRITE, lanes(tile % 2 * 128 + warp * 32), size=16)
        for half in (source, target):
            yield Step(half.line, half.space, half.type, half.size, half.starts, asynchronous=True)

    def program(block: int, warp: int) -> Iterator[Step | Group | None]:
        yield from copy("copy_first", 0, block, warp)
        yield Group()
        for tile in range(tiles):
            if tile + 1 < tiles:
                yield from copy("copy_next", tile + 1, block, warp)
            yield Group()
            yield Group(left=1)
            yield BARRIER
            slots = {lane: tile % 2 * 128 + (warp * 32 + lane + 1) % 128 for lane in range(32)}
            yield near("neighbour", READ, slots, size=16)
            yield far("store", WRITE, 2, lanes((block * tiles + tile) * 128 + warp * 32), size=16)
            yield BARRIER

    return program


def transpose(n: int, padding: int) -> Program:
    def program(block: int, y: int) -> Iterator[Step | None]:
        left, top = block % (n // 32) * 32, block // (n // 32) * 32
        for row in range(y, 32, 8):
            yield far("load", READ, 1, lanes((top + row) * n + left))
            yield near("keep", WRITE, lanes(row * (32 + padding)))
        yield BARRIER
        for row in range(y, 32, 8):
            yield near("turn", READ, lanes(row, 32 + padding))
            yield far("store", WRITE, 2, lanes((left + row) * n + top))

    return program


def half_rows(columns: int) -> Program:
    def program(block: int, warp: int) -> Iterator[Step | None]:
        row = block * 4 + warp
        for column in range(0, columns, 32):
            yield far("first", READ, 1, lanes(row * columns + column), size=2)
        for pair in range(0, columns // 2, 32):
            yield far("second", READ, 1, lanes(row * columns // 2 + pair))
            yield far("weight", READ, 2, lanes(pair))
            yield far("store", WRITE, 3, lanes(row * columns // 2 + pair))

    return program


def bytes_(block: int, warp: int) -> Iterator[Step | None]:
    yield far("single", WRITE, 1, lanes(block * 128 + warp * 32), size=1)
    yield BARRIER
    if warp == 0:
        yield far("word", READ, 1, lanes(block * 32))
    yield BARRIER
    if warp == 0:
        yield far("vector", READ, 1, lanes(block * 8, 1, 8), size=16)
    yield BARRIER
    if warp < 2:
        yield far("pair", WRITE, 1, lanes(block * 64 + warp * 32), size=2)
    yield BARRIER
    if warp == 0:
        yield far("half", READ, 1, lanes(block * 16, 1, 16), size=8)
        yield far("store", WRITE, 2, lanes(block * 16, 1, 16), size=8)


def tiles(steps: int, *, racy: bool) -> Program:
    def program(block: int, warp: int) -> Iterator[Step | None]:
        for _ in range(steps):
            yield near("write", WRITE, lanes(warp * 32))
            yield BARRIER
            yield near("neighbour", READ, lanes((warp + 1) % 4 * 32))
            if not racy:
                yield BARRIER
        yield far("sum", WRITE, 1, lanes(warp * 32))

    return program


# Example, what it plants, kernel, blocks, warps a block, program.
Simulation = tuple[str, examples.Expected, str, int, int, Program]
SIMULATIONS: list[Simulation] = [
    ("labels", examples.labels(3), "labels", 3, 4, labels),
    ("softmax", examples.softmax(2, 512), "softmax", 2, 8, softmax(512)),
    ("matmul", examples.matmul(64), "matmul", 4, 32, matmul(64)),
    ("stencil", examples.stencil(64), "stencil", 16, 8, stencil(64)),
    ("reduction", examples.reduction(2), "reduction", 2, 8, reduction),
    ("histogram", examples.histogram(3), "histogram_global", 3, 8, histogram_global(spread=False)),
    ("histogram", examples.histogram(3), "histogram_shared", 3, 8, histogram_shared(spread=False)),
    ("spread", examples.histogram(3, spread=True), "histogram_global", 3, 8, histogram_global(spread=True)),
    ("spread", examples.histogram(3, spread=True), "histogram_shared", 3, 8, histogram_shared(spread=True)),
    ("async_copy", examples.async_copy(2, 4), "pipeline", 2, 4, async_copy(4)),
    ("transpose", examples.transpose(64), "transpose_unpadded", 4, 8, transpose(64, 0)),
    ("transpose", examples.transpose(64), "transpose_padded", 4, 8, transpose(64, 1)),
    ("half_rows", examples.half_rows(8, 128), "half_rows", 2, 4, half_rows(128)),
    ("bytes", examples.bytes_(3), "bytes", 3, 4, bytes_),
]


def schedule(
    blocks: int, warps: int, program: Program, seed: int
) -> Iterator[tuple[int, int, Step | Group | None]]:
    """Take the next step of a warp that may go on, chosen at random, until all have ended."""
    chance = random.Random(seed)
    running = {(block, warp): program(block, warp) for block in range(blocks) for warp in range(warps)}
    ready = set(running)
    while running:
        place = chance.choice(sorted(ready))
        try:
            step = next(running[place])
        except StopIteration:
            del running[place]
            ready.discard(place)
            continue
        yield *place, step
        if step is BARRIER:
            ready.discard(place)
            block = {other for other in running if other[0] == place[0]}
            if not block & ready:
                ready |= block


def records(steps: Iterator[tuple[int, int, Step | Group | None]], pcs: dict[str, int]) -> Iterator[Record]:
    for block, warp, step in steps:
        if step is BARRIER:
            yield Record(RecordKind.BLOCK_BARRIER, block=block, warp=warp)
            continue
        if isinstance(step, Group):
            kind = RecordKind.ASYNC_COMMIT if step.left is None else RecordKind.ASYNC_WAIT
            yield Record(kind, block=block, warp=warp, address=step.left or 0)
            continue
        assert step is not None
        pc = pcs.setdefault(step.line, 16 * (len(pcs) + 1))
        yield Record(
            RecordKind.ACCESS,
            pc + (step.asynchronous and step.space == SHARED),
            block,
            warp,
            sum(1 << lane for lane in step.starts),
            space=step.space,
            type=step.type,
            flags=RecordFlag.ASYNC if step.asynchronous else 0,
            size=step.size,
            starts=tuple(step.starts.get(lane, 0) for lane in range(32)),
            sizes=tuple(step.size if lane in step.starts else 0 for lane in range(32)),
        )
    yield Record(RecordKind.LAUNCH_END, active=FULL)
