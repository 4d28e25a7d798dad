"""The launch profile: one JSON document per kernel launch.

These types are the format. ``schema.py`` derives the published JSON Schema from them, ``native/profile`` writes
documents of this shape, and everything after collection reads them through this module only.

Histograms are ``[[value, executions], ...]`` with values ascending and no zero counts.
"""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = [
    "FORMAT",
    "VERSION",
    "Allocation",
    "AllocationTraffic",
    "Coverage",
    "Device",
    "Edge",
    "Function",
    "Histogram",
    "Kernel",
    "Launch",
    "LaunchProfile",
    "Node",
    "NotAnalysed",
    "Process",
    "Versions",
]

FORMAT = "cuvein launch profile"
VERSION = 1

Histogram = list[tuple[int, int]]
Dimensions = tuple[int, int, int]
LabelName = Literal["cold", "thread", "warp_same_inst", "warp_diff_inst", "block", "cluster", "grid"]
SpaceName = Literal["global", "shared", "local", "distributed_shared"]
TypeName = Literal["read", "write", "atomic"]
AllocationKindName = Literal[
    "unknown", "device", "pool", "mapped", "managed", "host_mapped", "module", "device_heap", "peer"
]


class Versions(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What took part in the recording. ``driver`` is the CUDA version the driver supports, e.g. ``"13.0"``."""

    cuvein: str
    sanitizer: str | None = None
    driver: str | None = None


class Process(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The process that launched the kernel. ``id`` is unique over machines and time."""

    id: str
    pid: int
    executable: str
    arguments: list[str]
    versions: Versions


class Device(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The GPU: CUDA ordinal, marketing name, compute capability."""

    ordinal: int
    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int


class Kernel(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The kernel: demangled and mangled name, SHA-256 of its module, hex."""

    name: str
    mangled: str
    module: str | None = None


class Function(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A function with code in this launch.

    ``offset`` is where it starts, in bytes from the entry of the kernel (negative when it lies before it).
    """

    name: str
    mangled: str
    offset: int
    size: int


class Allocation(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A memory allocation alive at the launch; ``name`` for ``__device__`` variables."""

    address: int
    size: int
    kind: AllocationKindName
    name: str | None = None


class Launch(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What was launched, where, and how.

    ``sequence`` counts the launches the process made, from 1, selected or not. ``functions[0]`` is the kernel.
    ``cluster`` is ``None`` without clusters. ``shared_bytes`` is ``[static, dynamic]``. ``graph`` is
    ``[instantiated graph, replay, node]`` for a kernel in a CUDA graph.
    """

    sequence: int
    kernel: Kernel
    grid: Dimensions
    block: Dimensions
    cluster: Dimensions | None
    shared_bytes: tuple[int, int]
    device: Device
    context: int
    stream: int
    functions: list[Function]
    allocations: list[Allocation]
    graph: tuple[int, int, int] | None = None


class NotAnalysed(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Warp-level executions of a kind of instruction that is seen but not analysed."""

    instruction: str
    executions: int


class Coverage(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What the graph covers.

    ``accesses`` counts warp-level accesses by space; ``unknown_bytes`` the bytes accessed outside every known
    allocation (analysed all the same); ``lost_records`` is 0 unless the profile is incomplete.
    """

    accesses: dict[SpaceName, int]
    not_analysed: list[NotAnalysed]
    unknown_bytes: int
    lost_records: int


class AllocationTraffic(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Bytes a node accessed in one allocation: an index into ``launch.allocations``, ``None`` for none known."""

    allocation: int | None
    bytes: int


class Node(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One program counter in one space.

    ``function`` indexes ``launch.functions``, ``pc`` is the byte offset in that function (+1 for the shared half
    of an asynchronous copy), ``size`` the bytes a lane accesses, ``executions`` warp-level. ``lanes``,
    ``addresses`` and ``sectors`` are for global and local; ``lanes``, ``words``, ``wavefronts`` and
    ``ideal_wavefronts`` for shared memory. What does not apply is empty. Local addresses are counted as the
    hardware lays them out: 4-byte words of a warp's 32 lanes side by side.
    """

    id: int
    function: int
    pc: int
    space: SpaceName
    type: TypeName
    size: int
    asynchronous: bool
    executions: int
    bytes: int
    lanes: Histogram
    addresses: Histogram
    sectors: Histogram
    words: Histogram
    wavefronts: Histogram
    ideal_wavefronts: Histogram
    allocations: list[AllocationTraffic]


class Edge(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Reuse: ``node`` touched bytes last touched by ``origin`` at the distance ``label``.

    ``origin`` is ``None`` exactly when the label is ``cold`` (the node "untracked"). ``count`` is the number of
    lane accesses with at least one such byte. ``unordered`` is how many of the bytes no barrier of the label's
    scope separated, ``None`` where that is not known or has no meaning.
    """

    node: int
    origin: int | None
    label: LabelName
    bytes: int
    count: int
    unordered: int | None = None


class LaunchProfile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The profile of one launch. ``incomplete`` is ``None``, or one sentence that says what is missing."""

    format: Literal["cuvein launch profile"]
    version: int
    id: str
    engine: Literal["host", "gpu"]
    incomplete: str | None
    process: Process
    launch: Launch
    coverage: Coverage
    nodes: list[Node]
    edges: list[Edge]
