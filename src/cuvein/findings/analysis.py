"""Findings over many launches: equal launches merged, weighed against their kernel, ranked over the run."""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cuvein.findings.locating import LinesMissing, located
from cuvein.findings.match import PROFILES_NAMED, Match, united
from cuvein.findings.ranking import rank
from cuvein.graph import Graph, Totals, stream
from cuvein.patterns import PATTERNS, Finding, Kernel, Place, Severity, Shares, Thresholds
from cuvein.profile.model import Barrier
from cuvein.source import launched_at, touched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cuvein.findings.locating import Locate
    from cuvein.patterns import Detection, Pattern
    from cuvein.profile.model import Node
    from cuvein.source import DataObject

__all__ = ["Analysis", "KernelSummary", "Report", "analyse", "collection_paused"]


@dataclass(slots=True)
class KernelSummary:
    """A kernel and shape, how often it was launched and what it did in all."""

    kernel: Kernel
    launches: int = 0
    incomplete: int = 0
    totals: Totals = field(default_factory=Totals)


@dataclass(slots=True)
class Report:
    """The result of an analysis.

    Attributes
    ----------
    profiles
        Launch profiles read.
    incomplete
        Sentences of the profiles that are incomplete, each once.
    kernels
        Kernels by shape, most transactions first.
    findings
        Ranked: what corrects, then what removes, moves and informs; within each by the share of the run.
    totals
        Work of all launches.
    lines_missing
        Why instructions have no source line: a sentence without full stop for each reason.
    barriers_followed
        ``False`` when block barriers ran on the GPU engine and of none it was followed what it orders.
    """

    profiles: int
    incomplete: list[str]
    kernels: list[KernelSummary]
    findings: list[Finding]
    totals: Totals
    lines_missing: list[str]
    barriers_followed: bool = True


class Analysis:
    """Accumulates findings launch by launch; memory grows with distinct findings, not with launches.

    Parameters
    ----------
    thresholds
        What the patterns compare with.
    patterns
        The patterns to look for; all by default.
    locate
        Finds the source line of a node, where line information is known.
    """

    def __init__(
        self,
        thresholds: Thresholds | None = None,
        patterns: Sequence[Pattern] = PATTERNS,
        locate: Locate | None = None,
    ) -> None:
        self._thresholds = thresholds or Thresholds()
        self._patterns = patterns
        self._locate = locate
        self._kernels: dict[Kernel, KernelSummary] = {}
        self._matches: dict[Kernel, dict[tuple[object, ...], Match]] = {}
        self._incomplete: dict[str, None] = {}
        self._profiles = 0
        self._lines_missing = LinesMissing(locate)
        self._followed: set[bool] = set()  # on the GPU engine

    def add(self, graph: Graph) -> None:
        """Look for every pattern in the graph of one launch."""
        profile = graph.profile
        self._profiles += 1
        self._lines_missing.add(profile)
        if profile.engine == "gpu":
            blocks = (barrier for barrier in profile.barriers or () if barrier.kind == "block")
            self._followed.update(barrier.ordered_bytes is not None for barrier in blocks)
        kernel = Kernel.of(profile)
        summary = self._kernels.setdefault(kernel, KernelSummary(kernel))
        matches = self._matches.setdefault(kernel, {})
        summary.launches += 1
        summary.totals += graph.totals
        if profile.incomplete is not None:
            summary.incomplete += 1
            self._incomplete.setdefault(profile.incomplete)
        places = _Places(graph, self._locate)
        for pattern in self._patterns:
            for detection in pattern.find(graph, self._thresholds):
                self._merge(matches, pattern, detection, profile.id, places)

    def _merge(
        self,
        matches: dict[tuple[object, ...], Match],
        pattern: Pattern,
        detection: Detection,
        profile: str,
        places: _Places,
    ) -> None:
        # Node ids may differ between launches of a kernel; functions and PCs do not.
        parts = detection.nodes
        if len(parts) > 1:
            parts = sorted(parts, key=lambda pair: places.key(pair[0]))
        # Two writes may race in both directions: which of them leads is part of the name.
        leads = next((places.key(node) for node, _ in parts if _id(node) == detection.leads), None)
        key = (pattern.name, detection.variant, leads, *(places.key(node) for node, _ in parts))
        removal = [part for _, part in parts]
        weight = _weight(removal, detection)
        match = matches.get(key)
        if match is None or weight > match.weight:
            heaviest = Match(
                pattern,
                detection.variant,
                0 if match is None else match.launches,
                [Totals()] * len(parts) if match is None else match.removal,
                [] if match is None else match.profiles,
                weight,
                detection.describe(),
                tuple(places.place(node) for node, _ in parts),
                detection.leads,
                detection.scope,
                detection.highest,
                detection.milder,
                detection.caveat,
                places.objects(detection.nodes),
                Counter() if match is None else match.launched,
            )
            match = matches[key] = heaviest
        match.launches += 1
        if places.launched is not None:
            match.launched[places.launched] += 1
        match.removal = [old + new for old, new in zip(match.removal, removal, strict=True)]
        if len(match.profiles) < PROFILES_NAMED:
            match.profiles.append(profile)

    def report(self) -> Report:
        """Return the findings so far, ranked."""
        totals = sum((summary.totals for summary in self._kernels.values()), Totals())
        findings = []
        for kernel, matches in self._matches.items():
            holding = [
                match
                for key, match in matches.items()
                if not match.pattern.every_launch or self._in_every_launch(kernel, key)
            ]
            findings += [self._finding(self._kernels[kernel], match) for match in united(holding)]
        return Report(
            profiles=self._profiles,
            incomplete=list(self._incomplete),
            kernels=sorted(
                self._kernels.values(), key=lambda each: (-each.totals.transactions, each.kernel.name)
            ),
            findings=rank(findings, totals),
            totals=totals,
            lines_missing=self._lines_missing.sentences(),
            barriers_followed=self._followed != {False},
        )

    def _in_every_launch(self, kernel: Kernel, key: tuple[object, ...]) -> bool:
        """Say whether all launches of the kernel's code have a match, those of other shapes too."""
        return all(
            key in self._matches[other] and self._matches[other][key].launches == summary.launches
            for other, summary in self._kernels.items()
            if (other.mangled, other.module) == (kernel.mangled, kernel.module)
        )

    def _finding(self, summary: KernelSummary, match: Match) -> Finding:
        pattern = match.pattern
        removal = sum(match.removal, Totals())
        shares = Shares.of(removal, summary.totals)
        highest = pattern.highest if match.highest is None else min(pattern.highest, match.highest)
        severity = self._severity(shares.largest)
        if match.milder and severity > Severity.INFO:
            severity = Severity(severity - 1)
        order = _by_importance(match)
        return Finding(
            pattern=pattern.name,
            variant=match.variant,
            title=pattern.title,
            kernel=summary.kernel,
            launches=match.launches,
            of_launches=summary.launches,
            places=tuple(match.places[position] for position in order),
            scope=match.scope or pattern.scope,
            severity=max(pattern.lowest, min(highest, severity)),
            effect=pattern.effect,
            summary=match.description.summary,
            evidence=match.description.evidence,
            removal=removal,
            by_place=tuple(match.removal[position] for position in order),
            shares=shares,
            mechanism=pattern.mechanism,
            caveat=f"{pattern.caveat} {match.caveat}" if match.caveat else pattern.caveat,
            profiles=list(match.profiles),
            launched=tuple(match.launched.most_common()),
            objects=tuple(match.objects.items()),
        )

    def _severity(self, share: float) -> Severity:
        thresholds = self._thresholds
        if share >= thresholds.high:
            return Severity.HIGH
        if share >= thresholds.medium:
            return Severity.MEDIUM
        return Severity.LOW if share >= thresholds.low else Severity.INFO


def analyse(
    paths: Path | str | Iterable[Path | str],
    thresholds: Thresholds | None = None,
    patterns: Sequence[Pattern] = PATTERNS,
    locate: Locate | None = None,
) -> Report:
    """Analyse launch profiles, or folders of them, one profile in memory at a time.

    Raises
    ------
    cuvein.profile.ProfileReadError
        If a path holds no profile or one cannot be read. The message is one sentence.
    """
    analysis = Analysis(thresholds, patterns, locate)
    with collection_paused():
        for graph in stream(*([paths] if isinstance(paths, (str, Path)) else paths)):
            analysis.add(graph)
    return analysis.report()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the garbage collector: a graph has no cycles, so looking for them is a waste of time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Places:
    """The places of one graph's nodes, made when first asked for."""

    def __init__(self, graph: Graph, locate: Locate | None) -> None:
        self._graph = graph
        self._locate = locate
        self._names = [function.mangled for function in graph.profile.launch.functions]
        self._ordinals: dict[int, int] | None = None
        self.launched = launched_at(graph.profile.launch)

    def objects(self, nodes: Sequence[tuple[Node | Barrier, Totals]]) -> dict[DataObject, int]:
        """Return the data objects that nodes touch."""
        return touched(self._graph.profile, (node for node, _ in nodes if not isinstance(node, Barrier)))

    def key(self, node: Node | Barrier) -> tuple[str, int, str, str]:
        """Return what names an instruction in any launch of the same code."""
        if isinstance(node, Barrier):
            return (self._names[node.function], node.pc, "barrier", node.kind)
        return (self._names[node.function], node.pc, node.space, node.type)

    def place(self, node: Node | Barrier) -> Place:
        if isinstance(node, Barrier):
            return self._place_of_barrier(node)
        if self._ordinals is None:
            self._ordinals = _ordinals(self._graph.nodes)
        profile = self._graph.profile
        source, missing = located(self._locate, profile, node)
        return Place(
            node=node.id,
            function=profile.launch.functions[node.function].name,
            pc=node.pc,
            space=node.space,
            type=node.type,
            size=node.size,
            ordinal=self._ordinals[node.id],
            source=source,
            source_missing=missing,
        )

    def _place_of_barrier(self, barrier: Barrier) -> Place:
        profile = self._graph.profile
        alike = [
            each.pc
            for each in profile.barriers or ()
            if (each.function, each.kind) == (barrier.function, barrier.kind)
        ]
        source, missing = located(self._locate, profile, barrier)
        return Place(
            node=-1,
            function=profile.launch.functions[barrier.function].name,
            pc=barrier.pc,
            space="barrier",
            type=barrier.kind,
            size=0,
            ordinal=sorted(alike).index(barrier.pc),
            source=source,
            source_missing=missing,
        )


def _id(node: Node | Barrier) -> int | None:
    return None if isinstance(node, Barrier) else node.id


def _ordinals(nodes: Sequence[Node]) -> dict[int, int]:
    """Count the nodes of each function, space, type and size in PC order."""
    seen: dict[tuple[object, ...], int] = {}
    ordinals = {}
    for node in sorted(nodes, key=lambda each: (each.function, each.pc)):
        kind = (node.function, node.space, node.type, node.size)
        ordinals[node.id] = seen.get(kind, 0)
        seen[kind] = ordinals[node.id] + 1
    return ordinals


def _weight(removal: list[Totals], detection: Detection) -> tuple[int, ...]:
    """Return by what the launch is chosen whose numbers a finding shows."""
    whole = removal[0] if len(removal) == 1 else sum(removal, Totals())
    return (detection.weight, whole.transactions, whole.instructions, whole.bytes)


def _by_importance(match: Match) -> list[int]:
    """Return the order of the places: a race's later access first, else by what acting on each takes away."""

    def importance(position: int) -> tuple[object, ...]:
        part = match.removal[position]
        return (match.places[position].node != match.leads, -part.transactions, -part.bytes, position)

    return sorted(range(len(match.places)), key=importance)
