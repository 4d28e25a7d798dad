"""The record streams of the cases that several tests look at; each returns the launch and its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.vocabulary import RecordFlag, RecordKind, Space
from reference.streams import Warp, launch

if TYPE_CHECKING:
    from cuvein.profile.model import Launch
    from reference.records import Record

SHARED = Space.SHARED
SOURCE, TARGET = 0x7F00_0000_0000, 0x7F00_1000_0000

Kernel = tuple["Launch", "list[Record]"]


def strided_shared_read() -> Kernel:
    """``s[i] = ...; __syncthreads(); ... = s[4 * i]``, one warp a block, two blocks."""
    records = []
    for block in range(2):
        warp = Warp(block)
        records.append(warp.write(0x40, lambda lane: 4 * lane, space=SHARED))
        records.append(warp.barrier(0x50))
        records.append(warp.read(0x60, lambda lane: 16 * lane, space=SHARED))
    return launch(grid=(2, 1, 1)), records


def strided_copy(stride: int, elements: int) -> Kernel:
    """``if (i * stride < n) target[i * stride] = source[i * stride]``, n threads in blocks of 128."""
    records = []
    for block in range(elements // 128):
        for number in range(4):
            warp = Warp(block, number)
            first = block * 128 + number * 32
            inside = {i: (first + i) * stride * 4 for i in range(32) if (first + i) * stride < elements}
            if inside:
                records.append(warp.read(0x40, {lane: SOURCE + at for lane, at in inside.items()}))
                records.append(warp.write(0x50, {lane: TARGET + at for lane, at in inside.items()}))
    return launch(grid=(elements // 128, 1, 1), block=(128, 1, 1)), records


def accumulate(rounds: int) -> Kernel:
    """``for (r...) y[i] += g[r]`` with two warps, y not kept in a register."""
    warps = [Warp(warp=number) for number in range(2)]
    records = []
    for step in range(rounds):
        for number, warp in enumerate(warps):
            mine = [SOURCE + 128 * number + 4 * lane for lane in range(32)]
            records.append(warp.read(0x40, mine))
            records.append(warp.read(0x50, lambda lane, at=TARGET + 4 * step: at))
            records.append(warp.write(0x60, mine))
    return launch(block=(64, 1, 1)), records


def two_words(*, barrier: bool, writer_first: bool = False) -> Kernel:
    """One thread writes two shared words, all 128 threads read them, its own warp last or first."""
    warps = [Warp(warp=number) for number in range(4)]
    records = [warps[0].write(0x40, {0: 0}, space=SHARED), warps[0].write(0x50, {0: 4}, space=SHARED)]
    if barrier:
        records += [warp.barrier(0x58) for warp in warps]
    for warp in warps if writer_first else reversed(warps):
        records.append(warp.read(0x60, lambda lane: 0, space=SHARED))
        records.append(warp.read(0x70, lambda lane: 4, space=SHARED))
    return launch(block=(128, 1, 1)), records


def tile_loop(tiles: int, *, trailing: bool) -> Kernel:
    """``for (tile...) { s[t] = ...; barrier; ... = s[t ^ 32]; [barrier] }``, two warps."""
    warps = [Warp(warp=number) for number in range(2)]
    records = []
    for _ in range(tiles):
        for number, warp in enumerate(warps):
            records.append(warp.write(0x40, lambda lane, base=128 * number: base + 4 * lane, space=SHARED))
        records += [warp.barrier(0x50) for warp in warps]
        for number, warp in enumerate(warps):
            base = 128 * (1 - number)
            records.append(warp.read(0x60, lambda lane, base=base: base + 4 * lane, space=SHARED))
        if trailing:
            records += [warp.barrier(0x70) for warp in warps]
    return launch(block=(64, 1, 1)), records


def double_buffer(stages: int, *, late: bool) -> Kernel:
    """One warp copies rows into two slots by turns and reads each; ``late``: it commits after the wait."""
    warp, records = Warp(), []
    for stage in range(stages):
        source, slot = SOURCE + 128 * stage, 128 * (stage % 2)
        commit, wait = warp.other(RecordKind.ASYNC_COMMIT, 0x60), warp.other(RecordKind.ASYNC_WAIT, 0x50)
        records += [
            warp.read(0x40, lambda lane, at=source: at + 4 * lane, flags=RecordFlag.ASYNC),
            warp.write(0x41, lambda lane, at=slot: at + 4 * lane, space=SHARED, flags=RecordFlag.ASYNC),
            *([wait, commit] if late else [commit, wait]),
            warp.read(0x70, lambda lane, at=slot: at + 4 * lane, space=SHARED),
        ]
    return launch(allocations=[(SOURCE, 128 * stages)]), records


def histogram(space: Space, blocks: int, warps: int, rounds: int) -> Kernel:
    """Every thread counts an input that is the same for all."""
    records = [
        Warp(block, number).atomic(0x40, lambda lane: 64, space=space)
        for block in range(blocks)
        for _ in range(rounds)
        for number in range(warps)
    ]
    return launch(grid=(blocks, 1, 1), block=(32 * warps, 1, 1)), records


def private_slots() -> Kernel:
    """Every lane writes its own shared slot and reads it back, twice; three blocks of two warps."""
    records = []
    for block in range(3):
        for number in range(2):
            warp, base = Warp(block, number), 128 * number
            starts = [base + 4 * lane for lane in range(32)]
            for _ in range(2):
                records += [warp.write(0x40, starts, space=SHARED), warp.read(0x50, starts, space=SHARED)]
    return launch(grid=(3, 1, 1), block=(64, 1, 1)), records
