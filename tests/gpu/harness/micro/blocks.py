"""Kernels of banks.cu, local.cu, staging.cu, shapes.cu, unused.cu and hopper.cu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.vocabulary import RecordKind, Space
from harness.micro.steps import INPUT, OTHER, OUTPUT, READ, WRITE, Kernel, Make, Steps, far, near, own
from harness.micro.traffic import cold
from harness.threads import BARRIER, COMMIT, WARP, Sync, Thread, Touch, wait

if TYPE_CHECKING:
    from collections.abc import Callable

# banks.cu


def stride(size: int) -> Make:
    def make(step: int) -> Kernel:
        def kernel(t: Thread) -> Steps:
            yield near("write", WRITE, step * t.lane, size)
            yield BARRIER
            yield near("move", READ, step * (t.lane ^ 1), size)
            yield far("move", WRITE, OUTPUT, t.index, size)

        return kernel

    return make


def tile(size: int, place: Callable[[int, int], int]) -> Kernel:
    def kernel(t: Thread) -> Steps:
        for row in range(t.warp, 32, 8):
            yield near("row", WRITE, place(row, t.lane), size)
        yield BARRIER
        for column in range(t.warp, 32, 8):
            yield near("column", READ, place(t.lane, column), size)
        yield far("sum", WRITE, OUTPUT, t.index, size)

    return kernel


def column(size: int) -> Make:
    return lambda padding: tile(size, lambda row, column: row * (32 + padding) + column)


def shared_multicast(share: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield near("write", WRITE, t.lane)
        yield BARRIER
        yield near("read", READ, t.lane // share)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


def two_words() -> Kernel:
    def kernel(t: Thread) -> Steps:
        if t.lane < 2:
            yield near("write", WRITE, 32 * t.lane)
        yield BARRIER
        yield near("read", READ, t.lane % 2 * 32)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


# local.cu


def array(size: int, write: Callable[[Thread, int], int], read: Callable[[Thread, int], int]) -> Kernel:
    def kernel(t: Thread) -> Steps:
        for j in range(8):
            yield own("write", WRITE, write(t, j) % 8, size)
        for j in range(8):
            yield own("read", READ, read(t, j) % 8, size)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


def indexed(size: int) -> Make:
    return lambda by: array(size, lambda _, j: 3 * j + by, lambda _, j: 5 * j + by)


# staging.cu


def copies(line: str, source: int, slot: int, size: int, brought: int | None = None) -> Steps:
    yield Touch(line, Space.GLOBAL, READ, INPUT + size * source, size, brought, asynchronous=True)
    yield Touch(line, Space.SHARED, WRITE, size * slot, size, asynchronous=True)


def copy(size: int, *, waited: bool = True) -> Callable[[], Kernel]:
    def make() -> Kernel:
        def kernel(t: Thread) -> Steps:
            yield from copies("copy", t.index, t.thread, size)
            yield COMMIT
            if waited:
                yield wait(0)
            yield BARRIER
            yield near("move", READ, t.thread ^ 32, size)
            yield far("move", WRITE, OUTPUT, t.index, size)

        return kernel

    return make


def copy_filled(whole: int, part: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield from copies("copy", t.index, t.lane, 16, 16 if t.lane < whole else part)
        yield COMMIT
        yield wait(0)
        yield BARRIER
        yield near("move", READ, t.lane ^ 1, 16)
        yield far("move", WRITE, OUTPUT, t.index, 16)

    return kernel


def rows(size: int) -> Make:
    def make(pitch: int, step: int, whole: int) -> Kernel:
        return copied_by_lane(
            size,
            lambda t: (4 * t.block + t.lane // 8) * pitch + t.lane % 8,
            step,
            lambda t: size if t.lane < whole else 0,
        )

    return make


def one(size: int) -> Make:
    return lambda: copied_by_lane(size, lambda t: 32 * t.block, 1, lambda _: size)


def copied_by_lane(
    size: int, source: Callable[[Thread], int], step: int, bytes_of: Callable[[Thread], int]
) -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield from copies("copy", source(t), step * t.lane, size, bytes_of(t))
        yield COMMIT
        yield wait(0)
        yield BARRIER
        yield near("move", READ, step * (t.lane ^ 1), size)
        yield far("move", WRITE, OUTPUT, t.index, size)

    return kernel


def double_buffer(tiles: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        first = t.block * tiles * 128 + t.thread
        yield from copies("copy_first", first, t.thread, 16)
        yield COMMIT
        for i in range(tiles):
            if i + 1 < tiles:
                yield from copies("copy_next", first + (i + 1) * 128, (i + 1) % 2 * 128 + t.thread, 16)
            yield COMMIT
            yield wait(1)
            yield BARRIER
            yield near("move", READ, i % 2 * 128 + (t.thread ^ 32), 16)
            yield far("move", WRITE, OUTPUT, first + i * 128, 16)
            yield BARRIER

    return kernel


def load_matrix(matrices: int) -> Make:
    def make(pitch: int) -> Kernel:
        def kernel(t: Thread) -> Steps:
            yield near("write", WRITE, t.lane * pitch, 16)
            yield BARRIER
            if t.lane < 8 * matrices:
                row = 16 * (t.lane ^ 1) * pitch
                yield Touch("matrix", Space.SHARED, READ, row, 16, matrix=True)
            yield WARP
            yield far("store", WRITE, OUTPUT, t.index)

        return kernel

    return make


# shapes.cu


def further_on(t: Thread) -> Steps:
    yield near("write", WRITE, t.thread)
    yield BARRIER
    yield near("read", READ, (t.thread + 32) % t.threads)
    yield far("store", WRITE, OUTPUT, t.index)


def tail(size: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        if t.index < size:
            yield from cold()(t)

    return kernel


def divergent() -> Kernel:
    def kernel(t: Thread) -> Steps:
        if t.index % 2 == 0:
            yield far("even", READ, INPUT, t.index)
            yield far("store_even", WRITE, OUTPUT, t.index)
        else:
            yield far("odd", READ, OTHER, t.index, 8)
            yield far("store_odd", WRITE, OUTPUT, t.index)

    return kernel


def triangle() -> Kernel:
    def kernel(t: Thread) -> Steps:
        for r in range(t.lane + 1):
            yield far("load", READ, INPUT, t.index // 32 * 1024 + 32 * r + t.lane)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


def odd_warps() -> Kernel:
    def kernel(t: Thread) -> Steps:
        if t.warp % 2 == 1:
            yield from cold()(t)

    return kernel


def early_exit(stay: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        if t.warp == 0 or t.lane >= stay:
            return
        yield near("write", WRITE, 32 * (t.warp - 1) + t.lane)
        yield BARRIER
        yield near("read", READ, 32 * (2 - t.warp) + t.lane)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


def many_blocks(slots: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("write", WRITE, OUTPUT, t.block % slots * 32 + t.thread)

    return kernel


def large_shared(kibibytes: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        for i in range(t.thread, 256 * kibibytes, 1024):
            yield near("write", WRITE, i)
        yield BARRIER
        for i in range(t.thread, 256 * kibibytes, 1024):
            yield near("read", READ, i ^ 32)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


# hopper.cu


def store_matrix(pitch: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield Touch("matrix", Space.SHARED, WRITE, 16 * t.lane * pitch, 16, matrix=True)
        yield BARRIER
        yield near("move", READ, (t.lane ^ 1) * pitch, 16)
        yield far("move", WRITE, OUTPUT, t.index, 16)

    return kernel


def cluster() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("write", WRITE, OUTPUT, t.index)
        yield Sync(RecordKind.CLUSTER_ARRIVE)
        yield Sync(RecordKind.CLUSTER_WAIT)
        yield far("read", READ, OUTPUT, t.index ^ 128)
        yield far("store", WRITE, OTHER, t.index)

    return kernel


# unused.cu


def without(word: int) -> Callable[[], Kernel]:
    def make() -> Kernel:
        def kernel(t: Thread) -> Steps:
            yield near("write", WRITE, t.thread, 16)
            yield BARRIER
            yield near("read", READ, t.thread ^ 1, 16)
            yield BARRIER
            yield near("rest", READ, 4 * (t.thread ^ 2) + word)
            yield far("store", WRITE, OTHER, t.index)

        return kernel

    return make
