"""Launch profiles of equal kernels added up: what every report of launches shows."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from cuvein.graph.histogram import weighted_sum
from cuvein.graph.metrics import ideal_sectors
from cuvein.source import launched_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.profile.model import (
        Coverage,
        Dimensions,
        Function,
        LabelName,
        LaunchProfile,
        Node,
        SpaceName,
        TypeName,
    )
    from cuvein.source import Origin

__all__ = [
    "AccessKey",
    "AccessSummary",
    "KernelSummary",
    "LaunchShape",
    "Summary",
    "access_of",
    "labels_of",
    "summarise",
]


class AccessKey(NamedTuple):
    """What makes two nodes of different launches the same one."""

    function: str
    pc: int
    space: SpaceName
    type: TypeName


class LaunchShape(NamedTuple):
    """Grid, block and cluster of a launch."""

    grid: Dimensions
    block: Dimensions
    cluster: Dimensions | None


@dataclass
class AccessSummary:
    """One node, added up over launches.

    Attributes
    ----------
    key, function
        Which instruction; ``function`` is the demangled name.
    size
        Bytes a lane accesses.
    executions, bytes
        Warp-level executions; bytes over all lanes.
    used, ideal
        Sectors (global, local) or wavefronts (shared), and how few would have done.
    lanes
        Active lanes over all executions.
    labels
        Bytes by label.
    origins
        Bytes by label and origin; ``None`` for cold bytes.
    unordered
        Bytes of reuse that no barrier separates from their origin.
    """

    key: AccessKey
    function: str
    asynchronous: bool
    size: int = 0
    executions: int = 0
    bytes: int = 0
    used: int = 0
    ideal: int = 0
    lanes: int = 0
    labels: Counter[LabelName] = field(default_factory=Counter)
    origins: Counter[tuple[LabelName, AccessKey | None]] = field(default_factory=Counter)
    unordered: int = 0

    @property
    def ratio(self) -> float | None:
        """Coalescing or conflict ratio: used over ideal; ``None`` without measurements."""
        return self.used / self.ideal if self.ideal else None

    @property
    def unit(self) -> str:
        """What ``used`` and ``ideal`` count."""
        return "wavefronts" if self.key.space in ("shared", "distributed_shared") else "sectors"

    @property
    def main_label(self) -> LabelName | None:
        """The label of most of the bytes."""
        return max(self.labels, key=lambda label: self.labels[label], default=None)

    @property
    def main_reuse(self) -> LabelName | None:
        """The label of most of the bytes that had been touched before."""
        reused = (label for label in self.labels if label != "cold" and self.labels[label])
        return max(reused, key=lambda label: self.labels[label], default=None)

    def main_origin(self, label: LabelName) -> tuple[AccessKey, int] | None:
        """Return where most of the bytes of a label were touched before, and how many; ``None`` for cold."""
        found = [
            (size, key) for (name, key), size in self.origins.items() if name == label and key is not None
        ]
        if not found:
            return None
        size, key = max(found, key=lambda pair: pair[0])
        return key, size

    def add(self, node: Node) -> None:
        """Add a node of one launch."""
        self.size = max(self.size, node.size)
        self.executions += node.executions
        self.bytes += node.bytes
        self.lanes += weighted_sum(node.lanes)
        if self.unit == "wavefronts":
            self.used += weighted_sum(node.wavefronts)
            self.ideal += weighted_sum(node.ideal_wavefronts)
        else:
            self.used += weighted_sum(node.sectors)
            self.ideal += ideal_sectors(node)


def labels_of(profile: LaunchProfile) -> dict[int, Counter[LabelName]]:
    """Give the bytes by label of each node of a launch, by the node's id."""
    labels: dict[int, Counter[LabelName]] = defaultdict(Counter)
    for edge in profile.edges:
        labels[edge.node][edge.label] += edge.bytes
    return labels


def access_of(node: Node, labels: Counter[LabelName]) -> AccessSummary:
    """Make the summary of one node of one launch."""
    access = AccessSummary(AccessKey("", node.pc, node.space, node.type), "", node.asynchronous)
    access.add(node)
    access.labels = labels
    return access


@dataclass
class KernelSummary:
    """All launches of one kernel: same mangled name, same module.

    Attributes
    ----------
    launches
        Process id and sequence number of each launch.
    shapes
        Grid, block and cluster, with the number of launches.
    traffic
        Bytes by space and label.
    accesses
        The nodes.
    analysed, not_analysed
        Warp-level accesses by space; executions of instructions that are seen but not analysed.
    incomplete
        Sequence number and what is missing.
    launched
        Where it was launched, with the number of launches; empty when that was not recorded.
    """

    name: str
    mangled: str
    module: str | None
    launches: list[tuple[str, int]] = field(default_factory=list)
    shapes: Counter[LaunchShape] = field(default_factory=Counter)
    devices: set[str] = field(default_factory=set)
    traffic: Counter[tuple[SpaceName, LabelName]] = field(default_factory=Counter)
    accesses: dict[AccessKey, AccessSummary] = field(default_factory=dict)
    analysed: Counter[SpaceName] = field(default_factory=Counter)
    not_analysed: Counter[str] = field(default_factory=Counter)
    unknown_bytes: int = 0
    lost_records: int = 0
    incomplete: list[tuple[int, str]] = field(default_factory=list)
    launched: Counter[Origin] = field(default_factory=Counter)

    @property
    def bytes(self) -> int:
        """Bytes accessed in all spaces."""
        return self.traffic.total()

    def by_label(self, space: SpaceName | None = None) -> Counter[LabelName]:
        """Return bytes by label, of one space or of all."""
        result: Counter[LabelName] = Counter()
        for (where, label), size in self.traffic.items():
            if space is None or where == space:
                result[label] += size
        return result

    def heaviest(self) -> list[AccessSummary]:
        """Return the nodes, those with the most bytes first."""
        return sorted(self.accesses.values(), key=lambda access: (-access.bytes, access.key))

    def add(self, profile: LaunchProfile) -> None:
        """Add one launch."""
        launch = profile.launch
        self.launches.append((profile.process.id, launch.sequence))
        self.shapes[LaunchShape(launch.grid, launch.block, launch.cluster)] += 1
        self.devices.add(launch.device.name)
        launched = launched_at(launch)
        if launched is not None:
            self.launched[launched] += 1
        self._add_coverage(profile.coverage)
        if profile.incomplete is not None:
            self.incomplete.append((launch.sequence, profile.incomplete))
        nodes = {node.id: self._access(node, launch.functions) for node in profile.nodes}
        for edge in profile.edges:
            access = nodes[edge.node]
            origin = nodes[edge.origin].key if edge.origin is not None else None
            access.labels[edge.label] += edge.bytes
            access.origins[edge.label, origin] += edge.bytes
            access.unordered += edge.unordered or 0
            self.traffic[access.key.space, edge.label] += edge.bytes

    def _access(self, node: Node, functions: list[Function]) -> AccessSummary:
        function = functions[node.function]
        key = AccessKey(function.mangled, node.pc, node.space, node.type)
        access = self.accesses.setdefault(key, AccessSummary(key, function.name, node.asynchronous))
        access.add(node)
        return access

    def _add_coverage(self, coverage: Coverage) -> None:
        self.analysed.update(coverage.accesses)
        for kind in coverage.not_analysed:
            self.not_analysed[kind.instruction] += kind.executions
        self.unknown_bytes += coverage.unknown_bytes
        self.lost_records += coverage.lost_records


@dataclass
class Summary:
    """Everything that was given, by kernel in the order of their traffic.

    ``programs`` maps the id of each process to its command line.
    """

    kernels: list[KernelSummary]
    programs: dict[str, list[str]]
    devices: list[str]

    @property
    def launches(self) -> int:
        """Launches in all."""
        return sum(len(kernel.launches) for kernel in self.kernels)


def summarise(profiles: Iterable[LaunchProfile]) -> Summary:
    """Add up launch profiles by kernel, one at a time.

    Parameters
    ----------
    profiles
        Any launches, of one process or several.
    """
    kernels: dict[tuple[str, str | None], KernelSummary] = {}
    programs: dict[str, list[str]] = {}
    devices: dict[str, None] = {}
    for profile in profiles:
        kernel = profile.launch.kernel
        programs.setdefault(profile.process.id, profile.process.arguments or [profile.process.executable])
        devices[profile.launch.device.name] = None
        summary = kernels.setdefault(
            (kernel.mangled, kernel.module), KernelSummary(kernel.name, kernel.mangled, kernel.module)
        )
        summary.add(profile)
    ordered = sorted(kernels.values(), key=lambda kernel: (-kernel.bytes, kernel.name))
    return Summary(ordered, programs, list(devices))
