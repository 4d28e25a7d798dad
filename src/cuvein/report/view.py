"""Makes the view that the browser report shows: profile by profile, with memory for one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

import cuvein
from cuvein.findings import Analysis
from cuvein.findings.locating import source_line
from cuvein.graph import LABELS, Graph, coalescing_ratio, conflict_ratio, ideal_sectors
from cuvein.graph.labels import INDEX
from cuvein.patterns import Kernel, Thresholds
from cuvein.report import findings_words as words
from cuvein.report.view_code import CodeBuilder
from cuvein.report.view_model import (
    FindingView,
    GraphView,
    GroupView,
    Index,
    KernelView,
    LaunchView,
    NodeView,
    PlaceView,
    ProcessView,
)
from cuvein.source import objects_of, short

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.findings import Report
    from cuvein.patterns import Finding, SourceLine
    from cuvein.profile.model import Barrier, LaunchProfile, Node, ProcessSummary
    from cuvein.source import Locator, Missing

__all__ = ["Parts", "build", "graph_view"]


class Parts(Protocol):
    """Where the parts of a view go; equal parts may share one number."""

    def add(self, part: msgspec.Struct) -> int:
        """Keep a part and return its number."""
        ...


def build(
    profiles: Iterable[LaunchProfile],
    parts: Parts,
    *,
    title: str,
    locator: Locator | None = None,
    summaries: Iterable[ProcessSummary] = (),
    thresholds: Thresholds | None = None,
) -> Index:
    """Make the view of launch profiles.

    Parameters
    ----------
    profiles
        Read once, in their order.
    parts
        Takes graphs, code and texts as they are made.
    title
        What the report calls itself.
    locator
        Knows lines, instructions and source text; without it they are left out.
    summaries
        What is known of the processes beside the profiles.
    thresholds
        Of the patterns.
    """
    return _Builder(parts, locator, thresholds or Thresholds()).build(profiles, title, summaries)


class _Builder:
    def __init__(self, parts: Parts, locator: Locator | None, thresholds: Thresholds) -> None:
        self._parts = parts
        self._thresholds = thresholds
        self._code = CodeBuilder(locator, parts.add) if locator is not None else None
        self._analysis = Analysis(thresholds, locate=self._locate)
        self._locator = locator
        self._processes: dict[str, ProcessView] = {}
        self._kernels: dict[tuple[str, str | None], int] = {}
        self._names: list[tuple[str, str, str | None]] = []
        self._shapes: list[Kernel] = []
        self._launches: list[LaunchView] = []

    def build(
        self, profiles: Iterable[LaunchProfile], title: str, summaries: Iterable[ProcessSummary]
    ) -> Index:
        for summary in summaries:
            self._processes[summary.process.id] = ProcessView(
                summary.process, summary.finished, summary.kernels_seen, summary.problems
            )
        for profile in profiles:
            self._add(profile)
        report = self._analysis.report()
        by_shape: dict[Kernel, list[tuple[int, Finding]]] = {}
        for position, finding in enumerate(report.findings):
            by_shape.setdefault(finding.kernel, []).append((position, finding))
        return Index(
            cuvein=cuvein.__version__,
            title=title,
            labels=list(LABELS),
            thresholds={
                name: getattr(self._thresholds, name.replace("-", "_")) for name in Thresholds.names()
            },
            processes=list(self._processes.values()),
            kernels=[
                KernelView(name, mangled, short(name), module, self._code_of(position))
                for position, (name, mangled, module) in enumerate(self._names)
            ],
            launches=[
                _with_findings(launch, by_shape.get(shape, []))
                for launch, shape in zip(self._launches, self._shapes, strict=True)
            ],
            findings=self._findings(report),
            incomplete=report.incomplete,
        )

    def _locate(self, profile: LaunchProfile, node: Node | Barrier) -> SourceLine | Missing | None:
        return None if self._locator is None else source_line(self._locator.frames(profile, node))

    def _code_of(self, kernel: int) -> int | None:
        return None if self._code is None else self._code.finish(kernel)

    def _add(self, profile: LaunchProfile) -> None:
        graph = Graph(profile)
        self._analysis.add(graph)
        launch = profile.launch
        name = launch.kernel
        self._processes.setdefault(profile.process.id, ProcessView(profile.process))
        kernel = self._kernels.setdefault((name.mangled, name.module), len(self._names))
        if kernel == len(self._names):
            self._names.append((name.name, name.mangled, name.module))
        if self._code is not None:
            self._code.add(kernel, profile)
        whole = graph.whole
        self._shapes.append(Kernel.of(profile))
        self._launches.append(
            LaunchView(
                id=profile.id,
                process=list(self._processes).index(profile.process.id),
                kernel=kernel,
                sequence=launch.sequence,
                grid=launch.grid,
                block=launch.block,
                shared_bytes=launch.shared_bytes,
                device=launch.device,
                stream=launch.stream,
                engine=profile.engine,
                traffic=list(whole.weights),
                instructions=graph.totals.instructions,
                sectors=graph.totals.sectors,
                wavefronts=graph.totals.wavefronts,
                nodes=len(graph.nodes),
                edges=len(graph.edges),
                graph=self._parts.add(graph_view(graph)),
                cluster=launch.cluster,
                cuda_graph=launch.graph,
                incomplete=profile.incomplete,
            )
        )

    def _findings(self, report: Report) -> list[FindingView]:
        return [
            finding_view(finding, self._kernels[finding.kernel.mangled, finding.kernel.module])
            for finding in report.findings
        ]


def graph_view(graph: Graph) -> GraphView:
    """Make the view of one graph."""
    profile = graph.profile
    return GraphView(
        nodes=[_node_view(graph, node) for node in graph.nodes],
        edges=[
            (
                edge.node,
                -1 if edge.origin is None else edge.origin,
                INDEX[edge.label],
                edge.bytes,
                edge.count,
                edge.unordered,
            )
            for edge in graph.edges
        ],
        groups=[
            GroupView([node.id for node in group.nodes], list(group.weights))
            for group in graph.closed_subgraphs
        ],
        functions=profile.launch.functions,
        allocations=profile.launch.allocations,
        objects=[each.title for each in objects_of(profile)],
        coverage=profile.coverage,
    )


def finding_view(finding: Finding, kernel: int) -> FindingView:
    """Make the view of a finding in the kernel of an index."""
    removal, shares = finding.removal, finding.shares
    return FindingView(
        pattern=finding.pattern,
        variant=finding.variant,
        title=finding.title,
        kernel=kernel,
        grid=finding.kernel.grid,
        block=finding.kernel.block,
        launches=finding.launches,
        of_launches=finding.of_launches,
        places=[
            PlaceView(
                place.function,
                place.pc,
                place.space,
                place.type,
                place.size,
                None if place.source is None else (place.source.file, place.source.line),
            )
            for place in finding.places
        ],
        scope=finding.scope,
        severity=finding.severity.word,
        effect=finding.effect.word,
        summary=finding.summary,
        evidence=finding.evidence,
        removal={name: getattr(removal, name) for name in ("instructions", "wavefronts", "sectors", "bytes")},
        shares={
            name: getattr(shares, name)
            for name in ("instructions", "wavefronts", "sectors", "bytes", "transactions")
        },
        score=finding.score,
        mechanism=finding.mechanism,
        caveat=finding.caveat,
        launched=words.launched(finding),
        data=words.data(finding),
    )


def _node_view(graph: Graph, node: Node) -> NodeView:
    return NodeView(
        id=node.id,
        function=node.function,
        pc=node.pc,
        space=node.space,
        type=node.type,
        size=node.size,
        executions=node.executions,
        bytes=node.bytes,
        weights=list(graph.weights(node)),
        asynchronous=node.asynchronous,
        lanes=node.lanes,
        addresses=node.addresses,
        sectors=node.sectors,
        words=node.words,
        wavefronts=node.wavefronts,
        ideal_wavefronts=node.ideal_wavefronts,
        allocations=node.allocations,
        coalescing=coalescing_ratio(node) if node.sectors else None,
        conflict=conflict_ratio(node) if node.ideal_wavefronts else None,
        ideal_sectors=ideal_sectors(node) / node.executions if node.sectors and node.executions else None,
    )


def _with_findings(launch: LaunchView, findings: list[tuple[int, Finding]]) -> LaunchView:
    held = [position for position, finding in findings if _holds(finding, launch.id)]
    return msgspec.structs.replace(launch, findings=held) if held else launch


def _holds(finding: Finding, profile: str) -> bool:
    """Say whether a launch has a finding; of one in many launches, though not all, only some are named."""
    named = len(finding.profiles) == finding.launches < finding.of_launches
    return profile in finding.profiles if named else True
