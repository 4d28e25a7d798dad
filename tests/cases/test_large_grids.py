"""Grids of millions of blocks and a hundred thousand block lifetimes: only the engine can take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cuvein.profile import violations
from cuvein.vocabulary import AccessType, RecordKind, Space
from reference.bulk import accesses, headers, with_offsets
from reference.engine import profile_bytes
from reference.graph import graph_of
from reference.records import FULL
from reference.streams import launch

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = 0x7F00_0000_0000


def test_22_million_blocks_share_4_million_slots() -> None:
    blocks, slots, batch = 22_000_000, 1 << 22, 1 << 20

    def records() -> Iterator[memoryview]:
        # The last warp of each block of 256 threads broadcasts 16 bytes of its block's slot.
        for first in range(0, blocks, batch):
            block = np.arange(first, min(first + batch, blocks), dtype=np.uint64)
            made = accesses(len(block), pc=0x40, size=16, warp=7, block=block)
            made["address"] = BASE + block % slots * 16
            yield made.data.cast("B")

    shape = launch(grid=(blocks, 1, 1), block=(256, 1, 1))
    assert shape.grid[0] * shape.block[0] > 2**32
    profile = profile_bytes(shape, records())
    assert violations(profile, {"global": slots * 16}) == []
    graph = graph_of(profile)
    assert graph.node(0x40).executions == blocks
    assert graph.node(0x40).bytes == blocks * 512 > 2**32
    assert graph.out(0x40) == {
        (None, "cold"): slots * 16,
        (0x40, "grid"): (blocks - slots) * 16,
        (0x40, "warp_same_inst"): blocks * 31 * 16,
    }


def test_blocks_beyond_32_bits_are_told_apart() -> None:
    # Blocks whose ids agree in their lower 32, 22 and 16 bits.
    shape = launch(grid=(2**31 - 1, 65535, 65535), block=(32, 1, 1))
    block = np.array([0, 1 << 16, 1 << 22, 1 << 32, 1 << 40, (1 << 62) // 1024], dtype=np.uint64)
    made = accesses(len(block), stride=4, pc=0x40, size=4, block=block, address=BASE)
    graph = graph_of(profile_bytes(shape, [made.tobytes()]))
    assert graph.out(0x40) == {(None, "cold"): 128, (0x40, "grid"): 128 * (len(block) - 1)}


def test_threads_that_leave_early_take_no_shared_memory_with_them() -> None:
    # if (t >= 16) return; s[t] = ...; barrier; ... = s[t ^ 1]; blocks of two warps, 250 of them at a time
    blocks, resident = 100_000, 250

    def records() -> Iterator[bytes]:
        for first in range(0, blocks, resident):
            low = {"active": 0xFFFF, "block": np.arange(first, first + resident, dtype=np.uint64)}
            shared = low | {"space": Space.SHARED, "size": 4}
            yield headers(resident, RecordKind.THREAD_EXIT, **low | {"active": FULL, "warp": 1}).tobytes()
            yield headers(resident, RecordKind.THREAD_EXIT, **low | {"active": FULL - 0xFFFF}).tobytes()
            yield accesses(resident, 4, pc=0x40, type=AccessType.WRITE, **shared).tobytes()
            yield headers(resident, RecordKind.BLOCK_BARRIER, pc=0x50, **low).tobytes()
            reads = accesses(resident, pc=0x60, address=4, **shared)
            yield with_offsets(reads, [4 * (lane ^ 1) - 4 for lane in range(16)]).tobytes()
            yield headers(resident, RecordKind.THREAD_EXIT, **low).tobytes()

    profile = profile_bytes(launch(grid=(blocks, 1, 1), block=(64, 1, 1)), records())
    assert violations(profile, {"shared": blocks * 64}) == []
    graph = graph_of(profile)
    assert graph.out(0x40) == {(None, "cold"): blocks * 64}
    assert graph.out(0x60) == {(0x40, "warp_diff_inst"): blocks * 64}
    assert graph.edge(0x60, 0x40, "warp_diff_inst").unordered == 0
    assert graph.node(0x60).lanes == {16: blocks}
