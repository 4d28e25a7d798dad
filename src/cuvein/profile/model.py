"""The launch profile: one JSON document per kernel launch.

These types are the format. ``schema.py`` derives the published JSON Schema from them, ``native/profile``
writes documents of this shape, and everything after collection reads them through this module only.

Histograms are ``[[value, executions], ...]`` with values ascending and no zero counts.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

__all__ = [
    "FORMAT",
    "PROCESS_FORMAT",
    "VERSION",
    "Allocation",
    "AllocationTraffic",
    "Barrier",
    "BarrierKindName",
    "CallSite",
    "Coverage",
    "Device",
    "Edge",
    "Function",
    "HiddenHazard",
    "Histogram",
    "HostFrame",
    "HostModule",
    "Kernel",
    "KernelSeen",
    "Launch",
    "LaunchProfile",
    "LeftToHost",
    "Node",
    "NotAnalysed",
    "Process",
    "ProcessSummary",
    "PythonFrame",
    "Versions",
]

FORMAT: Final = "cuvein launch profile"
PROCESS_FORMAT: Final = "cuvein process"
VERSION = 1

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Histogram = list[tuple[Count, Positive]]
Dimensions = tuple[Positive, Positive, Positive]
LabelName = Literal["cold", "thread", "warp_same_inst", "warp_diff_inst", "block", "cluster", "grid"]
SpaceName = Literal["global", "shared", "local", "distributed_shared"]
TypeName = Literal["read", "write", "atomic"]
BarrierKindName = Literal["block", "warp", "cluster", "mbarrier"]
AllocationKindName = Literal[
    "unknown", "device", "pool", "mapped", "managed", "host_mapped", "module", "device_heap", "peer", "tensor"
]


class Versions(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What took part in the recording. ``driver`` is the CUDA version the driver supports (``"13.0"``)."""

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
    size: Count


class HostModule(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A file with machine code of the host: its path, and the build id its linker gave it, in hex."""

    path: str
    build_id: str | None = None


class HostFrame(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """A call in machine code of the host.

    ``offset`` lies in the call instruction, as the file ``launch.host_modules[module]`` counts addresses;
    without ``module`` the code is in no file. ``symbol`` is the mangled name of the exported function around.
    """

    module: Count | None
    offset: Count
    symbol: str | None = None


class PythonFrame(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """A call in Python. ``line`` is 0 where it is not known."""

    file: str
    line: Count
    function: str


class CallSite(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Where on the host something was asked for.

    ``python`` and ``native`` are the calls, innermost first, ``ranges`` the NVTX ranges that the thread had
    pushed (``"name"`` or ``"domain@name"``), outermost first, and ``operators`` the operators and backward
    functions of PyTorch that were running, outermost first. ``note`` says what is missing.

    In a backward pass of PyTorch, ``forward`` is the call in the forward pass whose gradient was computed and
    ``caller`` the call that started the pass: indices into ``launch.sites``, ``None`` where not known.
    """

    python: list[PythonFrame]
    native: list[HostFrame]
    ranges: list[str]
    operators: list[str]
    note: str | None = None
    forward: Count | None = None
    caller: Count | None = None


class Allocation(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A memory allocation alive at the launch; ``name`` for ``__device__`` variables.

    Of a tensor that is known to be of one of several kinds, ``name`` says of which, and of one that the
    operator that made it has given back before it returned, of which operator it was a temporary.

    A ``tensor`` is an array that a framework keeps in a part of ``launch.allocations[parent]``: its bytes
    count for it alone. ``shape`` and ``dtype`` are ``None`` where it is not known what lies there. ``site``,
    an index into ``launch.sites``, is where the memory was asked for.
    """

    address: Count
    size: Count
    kind: AllocationKindName
    name: str | None = None
    parent: Count | None = None
    shape: list[Count] | None = None
    dtype: str | None = None
    site: Count | None = None


class Launch(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What was launched, where, and how.

    ``sequence`` counts the launches the process made, from 1, selected or not. ``functions[0]`` is the
    kernel. ``cluster`` is ``None`` without clusters. ``shared_bytes`` is ``[static, dynamic]``. ``graph`` is
    ``[instantiated graph, replay, node]`` for a kernel in a CUDA graph. ``site`` is where it was launched, an
    index into ``sites``, and ``host_modules`` are the files that the calls there lie in; nothing is there
    unless it was asked for. ``merged`` is how many launches the profile adds up; what differs between them is
    that of the first.
    """

    sequence: Positive
    kernel: Kernel
    grid: Dimensions
    block: Dimensions
    cluster: Dimensions | None
    shared_bytes: tuple[Count, Count]
    device: Device
    context: Count
    stream: Count
    functions: list[Function]
    allocations: list[Allocation]
    graph: tuple[Count, Count, Count] | None = None
    site: Count | None = None
    sites: list[CallSite] = msgspec.field(default_factory=list)
    host_modules: list[HostModule] = msgspec.field(default_factory=list)
    merged: Positive = 1


class NotAnalysed(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Warp-level executions of a kind of instruction that is seen but not analysed."""

    instruction: str
    executions: Count


class Coverage(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What the graph covers.

    ``accesses`` counts warp-level accesses by space; ``unknown_bytes`` the bytes accessed outside every known
    allocation (analysed all the same); ``lost_records`` is 0 unless the profile is incomplete.
    """

    accesses: dict[SpaceName, Count]
    not_analysed: list[NotAnalysed]
    unknown_bytes: Count
    lost_records: Count


class AllocationTraffic(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Bytes a node accessed in one of ``launch.allocations`` (an index), ``None``: in none that is known."""

    allocation: Count | None
    bytes: Count


class Node(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One program counter in one space.

    ``function`` indexes ``launch.functions``, ``pc`` is the byte offset in that function (+1 for the shared
    half of an asynchronous copy), ``size`` the bytes a lane accesses, ``executions`` warp-level. ``lanes``,
    ``addresses`` and ``sectors`` are for global and local; ``lanes``, ``words``, ``wavefronts`` and
    ``ideal_wavefronts`` for shared memory. What does not apply is empty. Local addresses are counted as the
    hardware lays them out: 4-byte words of a warp's 32 lanes side by side.
    """

    id: Count
    function: Count
    pc: int
    space: SpaceName
    type: TypeName
    size: Positive
    asynchronous: bool
    executions: Count
    bytes: Count
    lanes: Histogram
    addresses: Histogram
    sectors: Histogram
    words: Histogram
    wavefronts: Histogram
    ideal_wavefronts: Histogram
    allocations: list[AllocationTraffic]


class Edge(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """Reuse: ``node`` touched bytes last touched by ``origin`` at the distance ``label``.

    ``origin`` is ``None`` exactly when the label is ``cold`` (the node "untracked"). ``count`` is the number
    of lane accesses with at least one such byte. ``unordered`` is how many of the bytes no barrier of the
    label's scope separated, ``None`` where that is not known or has no meaning.
    """

    node: Count
    origin: Count | None
    label: LabelName
    bytes: Count
    count: Count
    unordered: Count | None = None


class Barrier(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """An instruction that synchronises threads; ``executions`` counts warps that reached it.

    ``ordered_bytes`` are the bytes that met an earlier access of another thread of the block, one of the two
    writing, where this was the last barrier in between. It is ``None`` where the engine cannot name the
    barrier that makes the order: for all kinds but ``block``, and for those too when a barrier of the launch
    was not one that the whole block waits at, or when that was not followed.
    """

    function: Count
    pc: int
    kind: BarrierKindName
    executions: Count
    ordered_bytes: Count | None = None


class HiddenHazard(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """A hazard that no edge shows: other accesses to the bytes lie between the two.

    ``node`` touched ``bytes`` of shared memory although no block barrier had separated it from ``origin``,
    an access of another warp of the block; one of the two writes.
    """

    node: Count
    origin: Count
    bytes: Positive


class LaunchProfile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The profile of one launch.

    ``incomplete`` is ``None``, or one sentence that says what is missing. ``barriers`` is ``None`` when the
    engine does not know them. ``hidden_hazards`` is not written when there are none; only the host engine
    looks for them.
    """

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
    barriers: list[Barrier] | None = None
    hidden_hazards: list[HiddenHazard] = msgspec.field(default_factory=list)


class KernelSeen(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A kernel that the process launched: how often, and how many of the launches were selected."""

    name: str
    mangled: str
    launches: Count
    selected: Count


class LeftToHost(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Launches that the host engine analysed although the GPU engine was asked for, and why."""

    reason: str
    launches: Count


class ProcessSummary(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What happened in one process: the file ``process.json`` beside its launch profiles.

    It is written when the process starts and again when it ends; ``finished`` is false in between, and stays
    so when the process was killed. ``profiles`` is how many launch profiles were written, ``incomplete`` how
    many of them lack something (``None``: not known), ``problems`` are sentences for the user, ``trace`` is
    the trace file, if one was asked for. ``host_engine`` says which launches were left to the host engine
    where the GPU engine was asked for.
    """

    format: Literal["cuvein process"]
    version: int
    process: Process
    finished: bool
    kernels_seen: list[KernelSeen]
    profiles: Count
    problems: list[str]
    trace: str | None
    host_engine: list[LeftToHost] = msgspec.field(default_factory=list)
    incomplete: Count | None = None
