"""The kernel of docs/graph.md as an access stream: two blocks of 64 threads, six loads."""

from __future__ import annotations

import msgspec

from cuvein.profile.model import Function, Kernel, LaunchProfile
from reference.engine import profiles
from reference.streams import Warp, launch

BASE = 0x10000
BLOCKS, THREADS = 2, 64
# PC and the element a thread reads, as in the kernel's source.
LOADS = (
    (0x70, lambda gid: gid),
    (0x80, lambda gid: gid),
    (0x90, lambda gid: gid & ~31),
    (0xA0, lambda gid: gid ^ 1),
    (0xB0, lambda gid: gid ^ 32),
    (0xC0, lambda gid: gid ^ THREADS),
)


def profile() -> LaunchProfile:
    """Replay the kernel with its warps in step."""
    warps = [(block, warp) for block in range(BLOCKS) for warp in range(THREADS // 32)]
    records = [
        Warp(block, warp).read(
            pc, lambda lane, b=block, w=warp, e=element: BASE + 4 * e(b * THREADS + w * 32 + lane)
        )
        for pc, element in LOADS
        for block, warp in warps
    ]
    records += [Warp(block, warp).exit() for block, warp in warps]
    shape = launch(grid=(BLOCKS, 1, 1), block=(THREADS, 1, 1), allocations=[(BASE, BLOCKS * THREADS * 4)])
    kernel = Kernel("labels(float const*, float*)", "_Z6labelsPKfPf", shape.kernel.module)
    shape = msgspec.structs.replace(
        shape, kernel=kernel, functions=[Function(kernel.name, kernel.mangled, 0, 0x200)]
    )
    return profiles([shape], records, workers=2)[1]
