"""What the browser report shows: one document with everything worked out.

The page draws, sorts, adds up and filters; which patterns there are, what they mean and where an instruction
comes from is decided in Python only. ``web/src/model.ts`` is this module in TypeScript.

A view is an index, which the page reads first, and parts, which it reads when they are looked at. In a page
each part is compressed by itself; in a ``.cuvein.json`` file they stand in ``parts``.
"""

# ruff: noqa: TC001  (msgspec reads the annotations when it decodes)

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from cuvein.patterns.finding import PlaceSpace, PlaceType
from cuvein.profile.model import (
    Allocation,
    AllocationTraffic,
    Coverage,
    Device,
    Dimensions,
    Function,
    Histogram,
    KernelSeen,
    Process,
    SpaceName,
    TypeName,
)

__all__ = [
    "FORMAT",
    "VERSION",
    "Code",
    "FindingView",
    "FunctionCode",
    "GraphView",
    "GroupView",
    "Index",
    "KernelView",
    "LaunchView",
    "NodeView",
    "PlaceView",
    "ProcessView",
    "SourceView",
    "Text",
    "View",
]

FORMAT: Final = "cuvein view"
VERSION = 1


class ProcessView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A process: facts of the run. ``finished`` is ``None`` when its summary is not beside the profiles."""

    process: Process
    finished: bool | None = None
    kernels_seen: list[KernelSeen] = []
    problems: list[str] = []


class KernelView(msgspec.Struct, frozen=True):
    """A kernel: ``short`` is its name for tables, ``code`` the part with its code, of type `Code`."""

    name: str
    mangled: str
    short: str
    module: str | None
    code: int | None


class LaunchView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row of the table of launches.

    ``process`` and ``kernel`` are indices. ``traffic`` is in bytes by label, in the order of ``labels`` of
    the index. ``findings`` are indices: those of the launch; where one is in many launches, though not
    in all, those of its kernel and shape. ``graph`` is the part with the
    graph, of type `GraphView`.
    """

    id: str
    process: int
    kernel: int
    sequence: int
    grid: Dimensions
    block: Dimensions
    shared_bytes: tuple[int, int]
    device: Device
    stream: int
    engine: str
    traffic: list[int]
    instructions: int
    sectors: int
    wavefronts: int
    nodes: int
    edges: int
    graph: int
    cluster: Dimensions | None = None
    cuda_graph: tuple[int, int, int] | None = None
    incomplete: str | None = None
    findings: list[int] = []


class PlaceView(msgspec.Struct, frozen=True, omit_defaults=True):
    """An instruction a finding is about, by what names it in every launch; ``source`` is ``[file, line]``."""

    function: str
    pc: int
    space: PlaceSpace
    type: PlaceType
    size: int
    source: tuple[str, int] | None = None


class FindingView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A finding; the fields are those of `cuvein.patterns.Finding`.

    ``launched`` and ``data`` are the text's sentences on where it was launched and on the data objects.
    """

    pattern: str
    variant: str
    title: str
    kernel: int
    grid: Dimensions
    block: Dimensions
    launches: int
    of_launches: int
    places: list[PlaceView]
    scope: str
    severity: str
    effect: str
    summary: str
    evidence: dict[str, float | int | str]
    removal: dict[str, int]
    shares: dict[str, float]
    score: float
    mechanism: str
    caveat: str
    launched: list[str] = []
    data: str = ""


class NodeView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A node of a graph with its metrics.

    ``weights`` is W_out by label. ``coalescing`` and ``conflict`` are ``None`` where they have no meaning;
    ``ideal_sectors`` is the mean over executions.
    """

    id: int
    function: int
    pc: int
    space: SpaceName
    type: TypeName
    size: int
    executions: int
    bytes: int
    weights: list[int]
    asynchronous: bool = False
    lanes: Histogram = []
    addresses: Histogram = []
    sectors: Histogram = []
    words: Histogram = []
    wavefronts: Histogram = []
    ideal_wavefronts: Histogram = []
    allocations: list[AllocationTraffic] = []
    coalescing: float | None = None
    conflict: float | None = None
    ideal_sectors: float | None = None


class GroupView(msgspec.Struct, frozen=True):
    """A minimal closed subgraph: ids of its nodes, and the sum of their W_out by label."""

    nodes: list[int]
    weights: list[int]


class GraphView(msgspec.Struct, frozen=True):
    """The graph of a launch.

    An edge is ``[node, origin, label, bytes, count, unordered]``: ids, -1 for no origin, the position of the
    label, and ``None`` where `cuvein.profile.model.Edge` has it. ``objects`` names the allocations, in order.
    """

    nodes: list[NodeView]
    edges: list[tuple[int, int, int, int, int, int | None]]
    groups: list[GroupView]
    functions: list[Function]
    allocations: list[Allocation]
    objects: list[str]
    coverage: Coverage


class FunctionCode(msgspec.Struct, frozen=True, omit_defaults=True):
    """The code of a function of a kernel.

    ``rows`` are ``[pc, text, frames]``: the instruction (``None`` when it is not known), and the position in
    `Code.frames` of the lines it comes from, -1 for none. ``missing`` says why there are no instructions.
    """

    name: str
    mangled: str
    rows: list[tuple[int, str | None, int]]
    missing: str | None = None


class SourceView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A source file: ``text`` is the part with its text, of type `Text`; else ``missing`` says why not."""

    path: str
    text: int | None = None
    missing: str | None = None
    changed: str | None = None


class Code(msgspec.Struct, frozen=True):
    """The code of a kernel.

    ``frames`` holds chains of ``[file, line, function]``, innermost first; the file is a position in
    ``files``. ``lines`` says why lines are missing, or for how many instructions, or is ``None``.
    """

    functions: list[FunctionCode]
    frames: list[list[tuple[int, int, str | None]]]
    files: list[SourceView]
    lines: str | None


class Text(msgspec.Struct, frozen=True):
    """Pieces of a source file: the number of the first line, and the lines. ``length`` is the file's."""

    pieces: list[tuple[int, list[str]]]
    length: int


class Index(msgspec.Struct, frozen=True):
    """What the page reads first."""

    cuvein: str
    title: str
    labels: list[str]
    thresholds: dict[str, float]
    processes: list[ProcessView]
    kernels: list[KernelView]
    launches: list[LaunchView]
    findings: list[FindingView]
    incomplete: list[str]


class View(msgspec.Struct, frozen=True):
    """A view as a file of its own."""

    format: Literal["cuvein view"]
    version: int
    index: Index
    parts: list[Any]
