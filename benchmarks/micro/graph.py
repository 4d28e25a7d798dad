"""What a derived graph is made of, and how a launch profile is compared with it.

Nodes are named by the source line: a planted line ends in a comment ``// @name``. Instructions of one line,
space and type are one node here, so that unrolling changes nothing. Everything else must be equal: bytes a
lane, executions, bytes, every histogram, every edge with its origin, bytes, count and unordered bytes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from cuvein.source import Missing

if TYPE_CHECKING:
    from pathlib import Path

    from cuvein.profile import LaunchProfile
    from cuvein.source import Locator

Histogram = Mapping[int, int]
Key = tuple[str, str, str]
HISTOGRAMS = ("lanes", "addresses", "sectors", "words", "wavefronts", "ideal_wavefronts")
_PLANTED = re.compile(r"// @(\w+)")
# Of these the order of barriers between blocks would have to be known.
_NOT_COMPARED = ("cluster", "grid")


@dataclass(frozen=True)
class Edge:
    """Reuse at the distance ``label`` by ``lanes`` accesses of single lanes, of bytes that ``origin`` left.

    ``bytes`` are the bytes of all these lanes together, where they are not whole accesses. ``unordered`` as
    in profiles: bytes that no barrier separated, ``None`` without meaning.
    """

    label: str
    lanes: int
    origin: str | None = None
    bytes: int | None = None
    unordered: int | None = None


@dataclass(frozen=True)
class Node:
    """One planted line in one space: what its instructions do, and where the bytes come from."""

    line: str
    space: str
    type: str
    size: int
    edges: tuple[Edge, ...]
    lanes: Histogram
    addresses: Histogram = field(default_factory=dict)
    sectors: Histogram = field(default_factory=dict)
    words: Histogram = field(default_factory=dict)
    wavefronts: Histogram = field(default_factory=dict)
    ideal_wavefronts: Histogram = field(default_factory=dict)
    asynchronous: bool = False

    @property
    def key(self) -> Key:
        """What tells nodes of one kernel apart."""
        return self.line, self.space, self.type

    @property
    def executions(self) -> int:
        """Warp-level executions."""
        return sum(self.lanes.values())

    @property
    def bytes(self) -> int:
        """Bytes of all lanes."""
        return sum(bytes_of(edge, self.size) for edge in self.edges)


Graph = list[Node]


@dataclass(frozen=True)
class Benchmark:
    """A kernel with parameters, and the graph that it must have.

    ``program`` is the source without its suffix. ``recorded`` is false where a recording would be too large.
    """

    program: str
    kernel: str
    parameters: tuple[int, ...]
    graph: Graph
    recorded: bool = True

    @property
    def word(self) -> str:
        """How the program is asked for it."""
        return ":".join([self.kernel, *map(str, self.parameters)])


BENCHMARKS: list[Benchmark] = []


def benchmark(
    program: str,
    *parameters: tuple[int, ...],
    recorded: bool = True,
) -> Callable[[Callable[..., Graph]], Callable[..., Graph]]:
    """Register the decorated function, named as the kernel, for each of ``parameters``."""

    def register(derive: Callable[..., Graph]) -> Callable[..., Graph]:
        kernel = derive.__name__.rstrip("_")
        BENCHMARKS.extend(Benchmark(program, kernel, given, derive(*given), recorded) for given in parameters)
        return derive

    return register


def bytes_of(edge: Edge, size: int) -> int:
    """Weight of an edge of a node whose lanes access ``size`` bytes."""
    return edge.lanes * size if edge.bytes is None else edge.bytes


def far(
    line: str,
    kind: str,
    executions: int,
    *edges: Edge,
    size: int = 4,
    lanes: int | Histogram = 32,
    addresses: int | Histogram | None = None,
    sectors: int | Histogram | None = None,
    space: str = "global",
    asynchronous: bool = False,
) -> Node:
    """Make a node of global (or local) memory; by default whole warps on consecutive aligned elements."""

    def of(value: int | Histogram) -> Histogram:
        return {value: executions} if isinstance(value, int) else value

    return Node(
        line,
        space,
        kind,
        size,
        edges,
        of(lanes),
        addresses=of(lanes if addresses is None else addresses),
        sectors=of(size if sectors is None else sectors),
        asynchronous=asynchronous,
    )


def near(
    line: str,
    kind: str,
    executions: int,
    *edges: Edge,
    size: int = 4,
    lanes: int | Histogram = 32,
    words: int | Histogram | None = None,
    wavefronts: int | Histogram | None = None,
    ideal: int | Histogram | None = None,
    asynchronous: bool = False,
) -> Node:
    """Make a node of shared memory; by default whole warps on consecutive elements, free of conflicts."""

    def of(value: int | Histogram) -> Histogram:
        return {value: executions} if isinstance(value, int) else value

    passes = max(1, size // 4)
    return Node(
        line,
        "shared",
        kind,
        size,
        edges,
        of(lanes),
        words=of(8 * size if words is None else words),
        wavefronts=of(passes if wavefronts is None else wavefronts),
        ideal_wavefronts=of(passes if ideal is None else ideal),
        asynchronous=asynchronous,
    )


def span(first: int, length: int) -> int:
    """How many sectors of 32 bytes the bytes from ``first`` on touch."""
    return (first + length - 1) // 32 - first // 32 + 1


@cache
def planted(source: Path) -> Mapping[int, str]:
    """Read which lines are planted: line number to name."""
    found = {}
    for number, text in enumerate(source.read_text().splitlines(), 1):
        if match := _PLANTED.search(text):
            found[number] = match[1]
    return found


def lines(profile: LaunchProfile, locator: Locator, source: Path) -> list[str]:
    """Name the planted line of each node of a profile, ``?`` for none.

    Raises
    ------
    ValueError
        When the module or its line table is missing.
    """
    names = planted(source)
    found = []
    for node in profile.nodes:
        frames = locator.node(profile, node).frames
        if isinstance(frames, Missing):
            raise ValueError(str(frames))
        here = (names.get(f.line) for f in frames if f.file.rpartition("/")[2] == source.name)
        found.append(next((name for name in here if name), "?"))
    return found


def differences(profile: LaunchProfile, names: list[str], expected: Graph) -> list[str]:
    """Say where a profile is not as derived; ``names`` are the planted lines of its nodes."""
    ids: dict[Key, list[int]] = defaultdict(list)
    for node in profile.nodes:
        ids[names[node.id], node.space, node.type].append(node.id)
    faults = []
    for want in expected:
        found = ids.pop(want.key, [])
        name = " ".join(want.key)
        if not found:
            faults.append(f"{name}: not in the profile")
            continue
        faults += [f"{name}: {fault}" for fault in _node_faults(profile, found, want)]
        faults += [f"{name}: {fault}" for fault in _edge_faults(profile, found, names, want)]
    for key, found in ids.items():
        executions = sum(profile.nodes[i].executions for i in found)
        faults.append(f"{' '.join(key)}: not derived, {executions} executions")
    return faults


def _node_faults(profile: LaunchProfile, found: list[int], want: Node) -> list[str]:
    nodes = [profile.nodes[i] for i in found]
    faults = []
    for what, has, should in (
        ("bytes a lane", max(node.size for node in nodes), want.size),
        ("executions", sum(node.executions for node in nodes), want.executions),
        ("bytes", sum(node.bytes for node in nodes), want.bytes),
        ("asynchronous", {node.asynchronous for node in nodes}, {want.asynchronous}),
    ):
        if has != should:
            faults.append(f"{what} {has}, should be {should}")
    for kind in HISTOGRAMS:
        histogram: Counter[int] = Counter()
        for node in nodes:
            histogram.update(dict(getattr(node, kind)))
        should_be = {value: n for value, n in getattr(want, kind).items() if n}
        if dict(histogram) != should_be:
            faults.append(f"{kind} {dict(sorted(histogram.items()))}, should be {should_be}")
    return faults


def _edge_faults(profile: LaunchProfile, found: list[int], names: list[str], want: Node) -> list[str]:
    """Compare the edges out of some nodes, those of one label and origin taken together."""
    has: dict[tuple[str, str | None], tuple[int, int]] = {}
    unordered: dict[tuple[str, str | None], list[int | None]] = defaultdict(list)
    for edge in profile.edges:
        if edge.node in found:
            key = (edge.label, None if edge.origin is None else names[edge.origin])
            weight, count = has.get(key, (0, 0))
            has[key] = (weight + edge.bytes, count + edge.count)
            unordered[key].append(edge.unordered)
    faults = []
    for wanted in want.edges:
        wanted_key = (wanted.label, wanted.origin)
        should = (bytes_of(wanted, want.size), wanted.lanes)
        seen = has.pop(wanted_key, (0, 0))
        text = wanted.label if wanted.origin is None else f"{wanted.label} from {wanted.origin}"
        if seen != should:
            faults.append(f"{text} {seen[0]} bytes by {seen[1]} lanes, should be {should[0]} by {should[1]}")
        loose = unordered[wanted_key]
        # The GPU engine does not always know, and then says so.
        if wanted.label in _NOT_COMPARED or (profile.engine == "gpu" and loose and None in loose):
            continue
        total = None if None in loose else sum(n for n in loose if n is not None)
        if seen[0] and total != wanted.unordered:
            faults.append(f"{text} {total} bytes unordered, should be {wanted.unordered}")
    for (label, origin), (weight, _) in has.items():
        faults.append(f"{label} from {origin} {weight} bytes, should not be")
    return faults
