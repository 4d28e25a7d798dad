"""The kernels of ``benchmarks/micro`` once more, as what one thread touches.

They are written from the CUDA sources, not from the graphs derived for them.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from harness.micro import blocks, traffic
from harness.threads import BARRIER, WARP

if TYPE_CHECKING:
    from harness.micro.steps import Kernel, Make


def reverse(lane: int) -> int:
    """Reverse five bits."""
    return int(f"{lane:05b}"[::-1], 2)


# Kernel: threads of a block, and what makes it of the parameters after the number of blocks.
KERNELS: dict[str, tuple[int, Make]] = {
    "cold": (128, traffic.cold),
    "thread": (128, traffic.thread),
    "warp_same_inst": (128, traffic.warp_same_inst),
    "warp_diff_inst": (128, lambda: traffic.exchange(WARP, 1)),
    "block": (128, lambda: traffic.exchange(BARRIER, 32)),
    "grid": (128, traffic.grid),
    "last_block": (32, traffic.last_block),
    "read_after_read": (128, traffic.read_after_read),
    "read_after_write": (128, lambda: traffic.exchange(BARRIER, 0)),
    "write_after_write": (128, traffic.write_after_write),
    "write_after_read": (128, traffic.write_after_read),
    "reload_half": (128, traffic.reload_half),
    "accumulate": (128, traffic.accumulate),
    "own_slot": (128, traffic.own_slot),
    "shared_overwritten": (128, traffic.shared_overwritten),
    "shared_reread": (128, traffic.shared_reread),
    **{f"stride{size}": (32, blocks.stride(size)) for size in (1, 2, 4, 8, 16)},
    "column4": (256, blocks.column(4)),
    "column8": (256, blocks.column(8)),
    "swizzle": (256, lambda: blocks.tile(4, lambda row, column_: 32 * row + (column_ ^ row))),
    "shared_multicast": (32, blocks.shared_multicast),
    "two_words": (32, blocks.two_words),
    "strided": (128, lambda step: traffic.gather(lambda t: step * t.index)),
    "shifted": (128, lambda by: traffic.gather(lambda t: t.index + by)),
    **{f"width{size}": (128, traffic.width(size)) for size in (1, 2, 4, 8, 16)},
    "members": (128, traffic.members),
    "reversed": (128, lambda: traffic.gather(lambda t: t.blocks * 128 - 1 - t.index)),
    "permuted": (128, lambda: traffic.gather(lambda t: t.index // 32 * 32 + reverse(t.lane))),
    "column_walk": (128, traffic.column_walk),
    "multicast": (128, lambda share: traffic.gather(lambda t: t.index // 32 * 32 + t.lane // share)),
    "squares": (128, lambda: traffic.gather(lambda t: t.index // 32 * 32 + t.lane * t.lane % 32)),
    "wide_broadcast": (128, traffic.wide_broadcast),
    "last_lane": (128, traffic.last_lane),
    "atomic_one": (32, traffic.atomic_one),
    "atomic_own": (128, traffic.atomic_own),
    "atomic_share": (32, traffic.atomic_share),
    "atomic_double": (128, lambda: traffic.atomic_twice(8, 1, 0)),
    "atomic_swap": (128, traffic.atomic_swap),
    "atomic_shared": (32, traffic.counted),
    "count_shared": (32, traffic.counted),
    "indexed": (64, blocks.indexed(4)),
    "rotated": (64, lambda: blocks.array(4, lambda t, j: j + t.thread, lambda _, j: j)),
    "wide": (64, blocks.indexed(16)),
    "narrow": (64, blocks.indexed(1)),
    **{f"copy{size}": (128, blocks.copy(size)) for size in (4, 8, 16)},
    "copy_unwaited": (128, blocks.copy(16, waited=False)),
    "copy_filled": (32, blocks.copy_filled),
    "double_buffer": (128, blocks.double_buffer),
    **{f"rows{size}": (32, blocks.rows(size)) for size in (4, 8)},
    **{f"one{size}": (32, blocks.one(size)) for size in (4, 8)},
    **{f"load_matrix{matrices}": (32, blocks.load_matrix(matrices)) for matrices in (1, 2, 4)},
    "divergent": (128, blocks.divergent),
    "triangle": (64, blocks.triangle),
    "odd_warps": (128, blocks.odd_warps),
    "early_exit": (96, blocks.early_exit),
    "full_block": (1024, lambda: blocks.further_on),
    "many_blocks": (32, blocks.many_blocks),
    "large_shared": (1024, blocks.large_shared),
    "bytes_then_word": (128, traffic.bytes_then_word),
    "word_then_bytes": (128, traffic.word_then_bytes),
    "one_byte": (128, traffic.one_byte),
    "pairs": (64, traffic.pairs),
    "four_origins": (128, traffic.four_origins),
    "vector_then_words": (128, traffic.vector_then_words),
    **{f"far_without{word}": (128, traffic.without(word)) for word in range(4)},
    **{f"near_without{word}": (128, blocks.without(word)) for word in range(4)},
    "store_matrix": (32, blocks.store_matrix),
    "cluster": (128, blocks.cluster),
    "atomic_vector": (128, lambda: traffic.atomic_twice(16, 0, 1)),
}


def shape(kernel: str, parameters: tuple[int, ...]) -> tuple[int, int, Kernel]:
    """Give the number of blocks, the threads of a block, and the kernel."""
    first, *rest = parameters
    if kernel == "three_dimensions":
        return 12, prod(parameters), blocks.further_on
    if kernel == "odd_block":
        return first, rest[0], traffic.cold()
    if kernel == "one_word":
        return first, 32 * rest[0], traffic.gather(lambda _: 5)
    if kernel == "tail":
        return -(-first // 128), 128, blocks.tail(first)
    threads, make = KERNELS[kernel]
    return first, threads, make(*rest)
