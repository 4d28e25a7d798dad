"""Kernels of scopes.cu, redundancy.cu, coalescing.cu, sharing.cu, widths.cu and unused.cu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.micro.steps import ATOMIC, COUNTER, INPUT, OTHER, OUTPUT, READ, WRITE, Kernel, Steps, far, near
from harness.threads import BARRIER, WARP, Sync, Thread

if TYPE_CHECKING:
    from collections.abc import Callable

# scopes.cu


def cold() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("load", READ, INPUT, t.index)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


def thread() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("load", READ, INPUT, t.index)
        yield far("store", WRITE, OUTPUT, t.index)
        yield far("again", READ, INPUT, t.index)
        yield far("store_again", WRITE, OUTPUT, t.blocks * 128 + t.index)

    return kernel


def warp_same_inst() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("load", READ, INPUT, t.index // 32)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


def exchange(sync: Sync, by: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("write", WRITE, OUTPUT, t.index)
        yield sync
        yield far("read", READ, OUTPUT, t.index ^ by)
        yield far("store", WRITE, OTHER, t.index)

    return kernel


def grid() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("load", READ, INPUT, t.thread)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


def last_block() -> Kernel:
    tickets: list[int] = []

    def kernel(t: Thread) -> Steps:
        yield far("write", WRITE, OUTPUT, t.index)
        yield WARP
        if t.lane == 0:
            yield far("ticket", ATOMIC, COUNTER, 0)
            tickets.append(t.block)
        yield WARP
        if len(tickets) != t.blocks or tickets[-1] != t.block:
            return
        for block in range(t.blocks):
            yield far("read", READ, OUTPUT, 32 * block + t.lane)
        yield far("store", WRITE, OTHER, t.lane)

    return kernel


# redundancy.cu


def read_after_read(rounds: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        for r in range(rounds):
            yield far("load", READ, INPUT, t.index)
            yield far("store", WRITE, OUTPUT, r * 128 * t.blocks + t.index)

    return kernel


def write_after_write() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("first", WRITE, OUTPUT, t.index)
        yield BARRIER
        yield far("second", WRITE, OUTPUT, t.index)

    return kernel


def write_after_read() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("read", READ, OUTPUT, t.index)
        yield far("write", WRITE, OUTPUT, t.index)

    return kernel


def reload_half() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("load", READ, INPUT, t.index)
        yield far("store", WRITE, OUTPUT, t.index)
        if t.index % 2 == 0:
            yield far("again", READ, INPUT, t.index)
            yield far("store_again", WRITE, OUTPUT, t.blocks * 128 + t.index)

    return kernel


def accumulate(rounds: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        for r in range(rounds):
            yield far("gain", READ, INPUT, r * 128 * t.blocks + t.index)
            yield far("read", READ, OUTPUT, t.index)
            yield far("write", WRITE, OUTPUT, t.index)
            yield BARRIER

    return kernel


def own_slot() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield near("write", WRITE, t.thread)
        yield BARRIER
        yield near("read", READ, t.thread)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


def shared_overwritten() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield near("first", WRITE, t.thread)
        yield BARRIER
        yield near("second", WRITE, t.thread)
        yield BARRIER
        yield near("read", READ, t.thread ^ 1)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


def shared_reread(rounds: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield near("write", WRITE, t.thread ^ 1)
        for _ in range(rounds):
            yield BARRIER
            yield near("read", READ, t.thread)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


# coalescing.cu and the gathers of sharing.cu


def gather(place: Callable[[Thread], int]) -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("load", READ, INPUT, place(t))
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


def width(size: int) -> Callable[[], Kernel]:
    def make() -> Kernel:
        def kernel(t: Thread) -> Steps:
            yield far("move", READ, INPUT, t.index, size)
            yield far("move", WRITE, OUTPUT, t.index, size)

        return kernel

    return make


def members() -> Kernel:
    def kernel(t: Thread) -> Steps:
        for member, name in enumerate("xyz"):
            yield far(name, READ, INPUT, 3 * t.index + member)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


def column_walk(columns: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        for column_ in range(columns):
            yield far("load", READ, INPUT, t.index * columns + column_)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


# sharing.cu


def wide_broadcast() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("move", READ, INPUT, t.index // 32, 16)
        yield far("move", WRITE, OUTPUT, t.index, 16)

    return kernel


def last_lane() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("collide", WRITE, OUTPUT, t.index // 32)
        yield WARP
        if t.lane == 31:
            yield far("last", READ, OUTPUT, t.index // 32)
        yield WARP
        yield far("all", READ, OUTPUT, t.index // 32)
        yield far("store", WRITE, OTHER, t.index)

    return kernel


def atomic_one() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("load", READ, INPUT, t.index)
        yield far("add", ATOMIC, OUTPUT, 0)

    return kernel


def atomic_own() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("add", ATOMIC, OUTPUT, t.thread)

    return kernel


def atomic_share(share: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("add", ATOMIC, OUTPUT, t.index // 32 * 32 + t.index % 32 // share)
        yield far("store", WRITE, OTHER, t.index)

    return kernel


def atomic_twice(size: int, first: int, second: int) -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("add", ATOMIC, OUTPUT, t.index ^ first, size)
        yield WARP
        yield far("add_again", ATOMIC, OUTPUT, t.index ^ second, size)

    return kernel


def atomic_swap() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("swap", ATOMIC, OUTPUT, t.index, 8)
        yield far("store", WRITE, OTHER, t.index, 8)

    return kernel


def counted(rounds: int = 1) -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("load", READ, INPUT, t.index)
        yield near("clear", WRITE, t.lane)
        yield BARRIER
        for _ in range(rounds):
            yield near("add", ATOMIC, 0)
        yield BARRIER
        yield near("collect", READ, t.lane)
        yield far("store", WRITE, OUTPUT, t.index)

    return kernel


# widths.cu


def bytes_then_word() -> Kernel:
    def kernel(t: Thread) -> Steps:
        for j in range(4):
            yield far("write", WRITE, OUTPUT, 4 * t.index + j, 1)
        yield BARRIER
        yield far("read", READ, OUTPUT, t.index)
        yield far("store", WRITE, OTHER, t.index)

    return kernel


def word_then_bytes() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield near("write", WRITE, t.thread)
        yield BARRIER
        yield near("read", READ, t.thread, 1)
        yield far("store", WRITE, OUTPUT, t.index, 1)

    return kernel


def one_byte() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("write", WRITE, OUTPUT, 4 * t.index + 1, 1)
        yield BARRIER
        yield far("read", READ, OUTPUT, t.index ^ 1)
        yield far("store", WRITE, OTHER, t.index)

    return kernel


def pairs() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield near("write", WRITE, t.thread)
        yield BARRIER
        if t.thread < 32:
            yield near("move", READ, t.thread, 8)
            yield far("move", WRITE, OUTPUT, t.block * 32 + t.thread, 8)

    return kernel


def four_origins() -> Kernel:
    def kernel(t: Thread) -> Steps:
        for j in range(4):
            yield far(f"write{j}", WRITE, OUTPUT, 4 * t.index + j)
        yield BARRIER
        yield far("move", READ, OUTPUT, t.index, 16)
        yield far("move", WRITE, OTHER, t.index, 16)

    return kernel


def vector_then_words() -> Kernel:
    def kernel(t: Thread) -> Steps:
        yield far("write", WRITE, OUTPUT, t.index, 16)
        yield BARRIER
        yield far("read", READ, OUTPUT, t.index // 4 * 16 + t.index % 4)
        yield far("store", WRITE, OTHER, t.index)

    return kernel


# unused.cu


def without(word: int) -> Callable[[], Kernel]:
    def make() -> Kernel:
        def kernel(t: Thread) -> Steps:
            yield far("write", WRITE, OUTPUT, t.index, 16)
            yield BARRIER
            yield far("read", READ, OUTPUT, t.index ^ 1, 16)
            yield BARRIER
            yield far("rest", READ, OUTPUT, 4 * (t.index ^ 2) + word)
            yield far("store", WRITE, OTHER, t.index)

        return kernel

    return make
