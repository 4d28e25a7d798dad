"""What a pattern reports."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from cuvein.profile.model import BarrierKindName, SpaceName, TypeName

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cuvein.graph.totals import Totals
    from cuvein.profile.model import (
        Barrier,
        Dimensions,
        LaunchProfile,
        Node,
    )
    from cuvein.source import DataObject, Origin

__all__ = [
    "Description",
    "Detection",
    "Effect",
    "Finding",
    "Kernel",
    "Place",
    "PlaceSpace",
    "PlaceType",
    "Severity",
    "Shares",
    "SourceLine",
]


PlaceSpace = Literal[SpaceName, "barrier"]
PlaceType = Literal[TypeName, BarrierKindName]


class Severity(enum.IntEnum):
    """How much a finding matters to its kernel: see `Thresholds` for the shares that make the difference."""

    INFO = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3

    @property
    def word(self) -> str:
        """The name in lower case, as users write it."""
        return self.name.lower()


class Effect(enum.IntEnum):
    """What acting on a finding does, in the order in which findings are ranked."""

    INFORMS = 0
    """It says how memory is used; there may be nothing to fix."""
    MOVES = 1
    """The accesses stay but can be served by a nearer or cheaper mechanism."""
    REMOVES = 2
    """The accesses or transactions named can go."""
    CORRECTS = 3
    """The program may compute wrong results."""

    @property
    def word(self) -> str:
        """The name in lower case."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place in the source.

    ``inlined`` holds the calls, innermost first, by which the line got into the kernel; there are none for
    the kernel's own lines.
    """

    file: str
    line: int
    inlined: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel and the shape of its launch: launches equal in all of these are merged."""

    name: str
    mangled: str
    module: str | None
    grid: Dimensions
    block: Dimensions
    cluster: Dimensions | None
    shared_bytes: tuple[int, int]

    @classmethod
    def of(cls, profile: LaunchProfile) -> Kernel:
        """Return the kernel and shape of a launch."""
        launch = profile.launch
        return cls(
            launch.kernel.name,
            launch.kernel.mangled,
            launch.kernel.module,
            launch.grid,
            launch.block,
            launch.cluster,
            launch.shared_bytes,
        )


@dataclass(frozen=True, slots=True)
class Place:
    """An instruction a finding is about.

    ``ordinal`` counts the nodes of the same function, space, type and size in the order of their PCs, from 0;
    with those it names the instruction in a way that survives changes elsewhere in the kernel. A barrier has
    the space ``barrier``, its kind as type, size 0 and node -1. ``source_missing`` says why there is no
    ``source``, where lines were looked for.
    """

    node: int
    function: str
    pc: int
    space: PlaceSpace
    type: PlaceType
    size: int
    ordinal: int
    source: SourceLine | None = None
    source_missing: str | None = None


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of a kernel's work, 0 to 1; ``transactions`` are sectors and wavefronts together."""

    instructions: float
    wavefronts: float
    sectors: float
    bytes: float
    transactions: float

    @classmethod
    def of(cls, part: Totals, whole: Totals) -> Shares:
        """Return what part of the whole something is; 0 where the whole is 0."""

        def share(some: int, every: int) -> float:
            return some / every if every else 0.0

        return cls(
            share(part.instructions, whole.instructions),
            share(part.wavefronts, whole.wavefronts),
            share(part.sectors, whole.sectors),
            share(part.bytes, whole.bytes),
            share(part.transactions, whole.transactions),
        )

    @property
    def largest(self) -> float:
        """The largest share of instructions, transactions or bytes.

        Wavefronts and sectors alone do not count: half of very few is little.
        """
        return max(self.instructions, self.transactions, self.bytes)


class Description(NamedTuple):
    """A match in words: one sentence with the numbers that matter, and the numbers by name."""

    summary: str
    evidence: dict[str, float | int | str]


@dataclass(slots=True)
class Detection:
    """A pattern's match in one graph, before it is weighed against the kernel and merged over launches.

    Attributes
    ----------
    nodes
        The nodes, or the barrier, it is about, and what acting on it takes from each.
    describe
        Puts it in words; called only for the launch whose words are shown, since most launches repeat others.
    variant
        Tells apart matches of one pattern at the same nodes, e.g. RAW and WAR.
    scope
        The execution scope, where it depends on the match.
    highest
        The severity it never exceeds; ``None``: the pattern's own.
    milder
        Whether its severity is one level below what its share of the kernel says.
    caveat
        What to add to the pattern's caveat in this case.
    weight
        By what launches are compared before what acting on the match takes away.
    leads
        Id of the node to name first; ``None``: the one most is taken from.
    """

    nodes: Sequence[tuple[Node | Barrier, Totals]]
    describe: Callable[[], Description]
    variant: str = ""
    scope: str | None = None
    highest: Severity | None = None
    milder: bool = False
    caveat: str | None = None
    weight: int = 0
    leads: int | None = None


@dataclass(slots=True)
class Finding:
    """A pattern found at some instructions of a kernel, over all its launches of one shape.

    Attributes
    ----------
    pattern, variant
        Name of the pattern (``"poor-coalescing"``), and its kind where it has several (``"RAW"``).
    title
        The pattern in words.
    kernel
        Kernel and launch shape.
    launches, of_launches
        Launches it was found in, and launches of this kernel and shape.
    places
        The instructions, most important first.
    scope
        The execution scope it concerns: thread, warp, block, grid or other.
    severity
        From the share of the kernel that acting on it affects.
    effect
        What acting on it does.
    summary
        One sentence with numbers, from the launch in which it weighs most.
    evidence
        The numbers by name, from the same launch.
    removal, by_place
        What acting on it takes away (or moves, see ``effect``), over the launches it was found in, in all and
        by place.
    shares
        ``removal`` as shares of the kernel's work over all launches of this shape.
    mechanism
        The hardware mechanism that serves this scope: what to do.
    caveat
        When not to.
    score
        What findings are ranked by within their effect: the share of the whole run that ``removal`` is.
    time_share
        The kernel's share of the measured time, if Nsight Compute's report was given and has the kernel.
    stall_share
        The share of the kernel's stalls that memory work of this kind can cause, if known.
    launched
        Where it was launched, with the number of launches, most first; empty when that was not recorded.
    objects
        The data objects that the places touch, with the bytes there, from the launch in which it weighs most.
    """

    pattern: str
    variant: str
    title: str
    kernel: Kernel
    launches: int
    of_launches: int
    places: tuple[Place, ...]
    scope: str
    severity: Severity
    effect: Effect
    summary: str
    evidence: dict[str, float | int | str]
    removal: Totals
    by_place: tuple[Totals, ...]
    shares: Shares
    mechanism: str
    caveat: str
    score: float = 0.0
    time_share: float | None = None
    stall_share: float | None = None
    profiles: list[str] = field(default_factory=list)
    launched: tuple[tuple[Origin, int], ...] = ()
    objects: tuple[tuple[DataObject, int], ...] = ()
