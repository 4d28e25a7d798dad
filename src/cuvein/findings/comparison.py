"""Two runs compared: traffic, wavefronts and findings that went away, appeared or moved scope."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuvein.findings.analysis import Analysis, collection_paused
from cuvein.findings.combining import Combiner, NodeKey
from cuvein.findings.matching import match_kernels, match_nodes
from cuvein.graph import LABELS, Totals, stream
from cuvein.patterns import Effect

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from cuvein.findings.analysis import Report
    from cuvein.findings.combining import CombinedKernel, CombinedNode
    from cuvein.findings.locating import Locate
    from cuvein.findings.matching import KernelMatch, NodeMatches
    from cuvein.patterns import Finding, Place, PlaceSpace, Thresholds
    from cuvein.profile.model import LabelName

__all__ = [
    "Attribution",
    "Comparison",
    "FindingChange",
    "KernelComparison",
    "NodeChange",
    "Run",
    "compare",
    "read_run",
]

# Bytes of an instruction that have to change their label, as a share, before it counts as moved.
MOVED = 0.05


@dataclass
class Run:
    """One side of a comparison: kernels over all launches, and their findings."""

    kernels: list[CombinedKernel]
    report: Report


def read_run(
    paths: Iterable[Path | str], thresholds: Thresholds | None = None, locate: Locate | None = None
) -> Run:
    """Read and analyse launch profiles, one in memory at a time.

    Raises
    ------
    cuvein.profile.ProfileReadError
        If there is no profile or one cannot be read.
    """
    analysis, combiner = Analysis(thresholds, locate=locate), Combiner(locate)
    with collection_paused():
        for graph in stream(*paths):
            analysis.add(graph)
            combiner.add(graph)
    return Run(combiner.kernels, analysis.report())


@dataclass(frozen=True)
class NodeChange:
    """An instruction in both builds whose reuse moved.

    ``source`` and ``target`` are the labels that lost and gained most, ``share`` how much of its bytes
    changed label.
    """

    before: CombinedNode
    after: CombinedNode
    source: LabelName
    target: LabelName
    share: float


@dataclass(frozen=True)
class FindingChange:
    """A finding before, after, or both.

    Removal is for one launch of the kernel, over all its shapes; ``attributed`` is the removal before by
    instruction, over all launches.
    """

    before: Finding | None
    after: Finding | None
    removal_before: Totals
    removal_after: Totals
    attributed: dict[NodeKey, Totals]

    @property
    def moved(self) -> bool:
        """Whether it is in both and its scope or severity differs."""
        if self.before is None or self.after is None:
            return False
        return (self.before.scope, self.before.severity) != (self.after.scope, self.after.severity)


@dataclass(frozen=True)
class Attribution:
    """What the graph had attributed to the findings that went away, and what went, for one launch.

    Attributes
    ----------
    attributed
        The sum over instructions of the most any gone finding said a fix would remove there.
    at_places
        What the instructions of those findings do less, or all they did where they are gone.
    in_kernel
        What the whole kernel does less; negative: it does more.
    """

    attributed: Totals
    at_places: Totals
    in_kernel: Totals


@dataclass
class KernelComparison:
    """A kernel in both runs. All is for one launch: the sum over its launches, divided by their number.

    Attributes
    ----------
    match
        The two kernels and how they were matched.
    before, after
        Work of a launch.
    traffic
        Bytes before and after by space and label, where there are any.
    nodes
        Which instruction is which.
    moved
        Instructions whose reuse moved to another label, most bytes first.
    gone, appeared, stayed
        Findings.
    attribution
        Whether the fix removed what was attributed; ``None`` if no finding that promises removal went away.
    """

    match: KernelMatch
    before: Totals
    after: Totals
    traffic: dict[tuple[PlaceSpace, LabelName], tuple[int, int]]
    nodes: NodeMatches
    moved: list[NodeChange]
    gone: list[FindingChange]
    appeared: list[FindingChange]
    stayed: list[FindingChange]
    attribution: Attribution | None


@dataclass
class Comparison:
    """Two runs compared: kernels in both by their work before, heaviest first, and those in one only."""

    before: Run
    after: Run
    kernels: list[KernelComparison]
    before_only: list[CombinedKernel]
    after_only: list[CombinedKernel]


def compare(before: Run, after: Run) -> Comparison:
    """Compare two runs kernel by kernel."""
    matches = match_kernels(before.kernels, after.kernels)
    kernels = [_compare(match, before.report.findings, after.report.findings) for match in matches]
    kernels.sort(
        key=lambda each: (-each.before.transactions * each.match.before.launches, each.match.before.name)
    )
    left = {match.before.mangled for match in matches}
    right = {match.after.mangled for match in matches}
    return Comparison(
        before,
        after,
        kernels,
        [kernel for kernel in before.kernels if kernel.mangled not in left],
        [kernel for kernel in after.kernels if kernel.mangled not in right],
    )


def _compare(match: KernelMatch, before: Sequence[Finding], after: Sequence[Finding]) -> KernelComparison:
    nodes = match_nodes(match.before, match.after)
    partner = {one.key: other.key for one, other in nodes.pairs}
    changes = _finding_changes(
        [each for each in before if each.kernel.mangled == match.before.mangled],
        [each for each in after if each.kernel.mangled == match.after.mangled],
        partner,
        match,
    )
    gone = [change for change in changes if change.after is None]
    traffic_before, traffic_after = match.before.traffic(), match.after.traffic()
    work_before = match.before.work.scaled(1 / match.before.launches)
    work_after = match.after.work.scaled(1 / match.after.launches)
    return KernelComparison(
        match=match,
        before=work_before,
        after=work_after,
        traffic={
            key: (
                round(traffic_before.get(key, 0) / match.before.launches),
                round(traffic_after.get(key, 0) / match.after.launches),
            )
            for key in sorted(traffic_before.keys() | traffic_after.keys(), key=_traffic_order)
        },
        nodes=nodes,
        moved=_moved(nodes),
        gone=gone,
        appeared=[change for change in changes if change.before is None],
        stayed=[change for change in changes if change.before is not None and change.after is not None],
        attribution=_attribution(gone, match, nodes, work_before - work_after),
    )


def _traffic_order(key: tuple[PlaceSpace, LabelName]) -> tuple[str, int]:
    return key[0], LABELS.index(key[1])


def _moved(nodes: NodeMatches) -> list[NodeChange]:
    moved = []
    for one, other in nodes.pairs:
        if not one.work.bytes or not other.work.bytes:
            continue
        change = [
            later / other.work.bytes - earlier / one.work.bytes
            for earlier, later in zip(one.weights, other.weights, strict=True)
        ]
        share = sum(part for part in change if part > 0)
        if share > MOVED:
            lost, gained = change.index(min(change)), change.index(max(change))
            moved.append(NodeChange(one, other, LABELS[lost], LABELS[gained], share))
    moved.sort(key=lambda each: -each.share * each.before.work.bytes)
    return moved


def _key(place: Place) -> NodeKey:
    # Barriers are not nodes, which are matched: they keep their place among the kernel's barriers.
    pc = place.ordinal if place.space == "barrier" else place.pc
    return NodeKey(place.function, pc, place.space, place.type)


class _Merged:
    """A finding over the launch shapes of its kernel."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        self.keys = [_key(place) for place in finding.places]
        self.by_key: dict[NodeKey, Totals] = defaultdict(Totals)
        self.add(finding)

    def add(self, finding: Finding) -> None:
        if finding.severity > self.finding.severity:
            self.finding = finding
        for place, part in zip(finding.places, finding.by_place, strict=True):
            self.by_key[_key(place)] += part

    def removal(self, launches: int) -> Totals:
        return sum(self.by_key.values(), Totals()).scaled(1 / launches)


def _merge(findings: Iterable[Finding]) -> list[_Merged]:
    merged: dict[object, _Merged] = {}
    for finding in findings:
        places = frozenset(_key(place) for place in finding.places)
        place = finding.places[0]
        race = (finding.variant, place.function, place.pc) if finding.effect is Effect.CORRECTS else None
        key = (finding.pattern, places, race)
        if key in merged:
            merged[key].add(finding)
        else:
            merged[key] = _Merged(finding)
    return list(merged.values())


def _change(before: _Merged | None, after: _Merged | None, match: KernelMatch) -> FindingChange:
    return FindingChange(
        before.finding if before else None,
        after.finding if after else None,
        before.removal(match.before.launches) if before else Totals(),
        after.removal(match.after.launches) if after else Totals(),
        dict(before.by_key) if before else {},
    )


def _finding_changes(
    before: Iterable[Finding], after: Iterable[Finding], partner: dict[NodeKey, NodeKey], match: KernelMatch
) -> list[FindingChange]:
    """Pair findings of one pattern that share an instruction, most instructions in common first."""
    ones, others = _merge(before), _merge(after)
    common = []
    for i, one in enumerate(ones):
        there = {partner.get(key, key if key.space == "barrier" else None) for key in one.keys}
        for j, other in enumerate(others):
            shared = len(there.intersection(other.keys))
            if shared and one.finding.pattern == other.finding.pattern:
                same = one.finding.variant == other.finding.variant
                common.append((not same, -shared, i, j))
    taken: dict[int, int] = {}
    for _, _, i, j in sorted(common):
        if i not in taken and j not in taken.values():
            taken[i] = j
    changes = [_change(one, others[taken[i]] if i in taken else None, match) for i, one in enumerate(ones)]
    changes += [_change(None, other, match) for j, other in enumerate(others) if j not in taken.values()]
    return changes


def _attribution(
    gone: Iterable[FindingChange], match: KernelMatch, nodes: NodeMatches, in_kernel: Totals
) -> Attribution | None:
    most: dict[NodeKey, Totals] = {}
    for change in gone:
        if change.before is None or change.before.effect is not Effect.REMOVES:
            continue
        for key, part in change.attributed.items():
            if key.space == "barrier":
                continue
            # Two findings at one instruction may promise the same work: it can go once.
            most[key] = most[key].largest(part) if key in most else part
    if not most:
        return None
    partner = {one.key: other for one, other in nodes.pairs}
    before = after = Totals()
    for key in most:
        before += match.before.nodes[key].work
        if key in partner:
            after += partner[key].work
    return Attribution(
        attributed=sum(most.values(), Totals()).scaled(1 / match.before.launches),
        at_places=before.scaled(1 / match.before.launches) - after.scaled(1 / match.after.launches),
        in_kernel=in_kernel,
    )
