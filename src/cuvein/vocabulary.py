"""The words of the field, defined once for Python, C++ and CUDA.

The native build turns this file into ``cuvein/model/vocabulary.h`` (see
``native/model/generate_vocabulary.py``), so it imports nothing of cuvein and holds enumerations and plain
constants only. The values are part of the trace format: append, never renumber.
"""

from __future__ import annotations

import enum

__all__ = [
    "BANKS",
    "BANK_BYTES",
    "SECTOR_BYTES",
    "WARP_LANES",
    "AccessType",
    "AddressForm",
    "AllocationKind",
    "BarrierKind",
    "Instruction",
    "Label",
    "RecordFlag",
    "RecordKind",
    "Space",
]

WARP_LANES = 32
SECTOR_BYTES = 32
BANKS = 32
BANK_BYTES = 4


class Label(enum.IntEnum):
    """Topological Distance: the smallest scope that holds an access and its most recent reuse."""

    COLD = 0
    THREAD = 1
    WARP_SAME_INST = 2
    WARP_DIFF_INST = 3
    BLOCK = 4
    CLUSTER = 5
    GRID = 6


class Space(enum.IntEnum):
    """Memory space of an access."""

    GLOBAL = 0
    SHARED = 1
    LOCAL = 2
    DISTRIBUTED_SHARED = 3


class AccessType(enum.IntEnum):
    """What an access does to memory; an atomic reads and writes."""

    READ = 0
    WRITE = 1
    ATOMIC = 2


class RecordKind(enum.IntEnum):
    """What one record of the access stream says."""

    PADDING = 0
    ACCESS = 1
    BLOCK_BARRIER = 2
    WARP_SYNC = 3
    THREAD_EXIT = 4
    LAUNCH_END = 5
    ASYNC_COMMIT = 6
    ASYNC_WAIT = 7
    CLUSTER_ARRIVE = 8
    CLUSTER_WAIT = 9
    DEVICE_MALLOC = 10
    DEVICE_FREE = 11
    NOT_ANALYSED = 12
    MBARRIER = 13


class BarrierKind(enum.IntEnum):
    """What synchronises threads: a barrier of the block, of a warp or of a cluster, or an mbarrier."""

    BLOCK = 0
    WARP = 1
    CLUSTER = 2
    MBARRIER = 3


class AddressForm(enum.IntEnum):
    """How a record stores the addresses of its active lanes."""

    AFFINE = 0
    LANES_32 = 1
    LANES_64 = 2


class RecordFlag(enum.IntFlag):
    """Properties of one access record.

    8 is free: it was meant for reductions, which the Sanitizer API reports like any atomic.
    """

    ASYNC = 1
    MATRIX = 2
    LANE_SIZES = 4


class Instruction(enum.IntEnum):
    """Memory instructions that are counted but not analysed."""

    BULK_COPY = 0
    BULK_REDUCTION = 1
    TMA_LOAD = 2
    TMA_STORE = 3
    WGMMA = 4
    REMOTE_SHARED = 5
    ASYNC_STORE = 6
    ASYNC_REDUCTION = 7
    SHARED_MEMSET = 8
    DEVICE_LAUNCH = 9
    TENSOR_CORE_COMMIT = 10
    CLUSTER_LAUNCH_CONTROL = 11


class AllocationKind(enum.IntEnum):
    """Where an allocation came from.

    ``MAPPED``: the virtual memory management calls. ``TENSOR``: it is an array of a framework, which keeps it
    in a part of another allocation.
    """

    UNKNOWN = 0
    DEVICE = 1
    POOL = 2
    MAPPED = 3
    MANAGED = 4
    HOST_MAPPED = 5
    MODULE = 6
    DEVICE_HEAP = 7
    PEER = 8
    TENSOR = 9
