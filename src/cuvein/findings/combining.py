"""All launches of one kernel as one graph: what two builds are compared by."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from cuvein.findings.locating import located
from cuvein.graph import LABELS, Totals

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.findings.locating import Locate
    from cuvein.graph import Graph
    from cuvein.patterns import PlaceSpace, PlaceType, SourceLine
    from cuvein.profile.model import LabelName

__all__ = ["CombinedKernel", "CombinedNode", "Combiner", "NodeKey"]


class NodeKey(NamedTuple):
    """What names an instruction within one build of a kernel."""

    function: str
    pc: int
    space: PlaceSpace
    type: PlaceType


@dataclass
class CombinedNode:
    """An instruction over all launches of its kernel.

    Attributes
    ----------
    key
        Its name in this build.
    size
        Bytes a lane accesses.
    source, source_missing
        Source line, or why there is none.
    work
        Instructions, wavefronts, sectors and bytes.
    weights
        Bytes by label, in the order of ``LABELS``.
    origins, users
        Bytes by label and the other end of the edge (``None``: untracked); ``users`` are in-edges.
    """

    key: NodeKey
    size: int
    source: SourceLine | None
    source_missing: str | None = None
    work: Totals = field(default_factory=Totals)
    weights: list[int] = field(default_factory=lambda: [0] * len(LABELS))
    origins: dict[tuple[LabelName, NodeKey | None], int] = field(default_factory=lambda: defaultdict(int))
    users: dict[tuple[LabelName, NodeKey], int] = field(default_factory=lambda: defaultdict(int))


@dataclass
class CombinedKernel:
    """All launches of one kernel, whatever their shape."""

    name: str
    mangled: str
    launches: int = 0
    nodes: dict[NodeKey, CombinedNode] = field(default_factory=dict)

    @property
    def work(self) -> Totals:
        """Instructions, wavefronts, sectors and bytes of all nodes."""
        return sum((node.work for node in self.nodes.values()), Totals())

    def traffic(self) -> dict[tuple[PlaceSpace, LabelName], int]:
        """Return bytes by space and label."""
        traffic: dict[tuple[PlaceSpace, LabelName], int] = defaultdict(int)
        for node in self.nodes.values():
            for label, weight in zip(LABELS, node.weights, strict=True):
                if weight:
                    traffic[node.key.space, label] += weight
        return dict(traffic)

    def in_order(self) -> list[CombinedNode]:
        """Return the nodes by function and PC."""
        return [self.nodes[key] for key in sorted(self.nodes)]


class Combiner:
    """Adds up graphs kernel by kernel; memory grows with code, not with launches.

    Parameters
    ----------
    locate
        Finds the source line of a node, where line information is known.
    """

    def __init__(self, locate: Locate | None = None) -> None:
        self._locate = locate
        self._kernels: dict[str, CombinedKernel] = {}

    @property
    def kernels(self) -> list[CombinedKernel]:
        """The kernels seen, in the order of their first launch."""
        return list(self._kernels.values())

    def add(self, graph: Graph) -> None:
        """Add a launch."""
        profile = graph.profile
        names = [function.name for function in profile.launch.functions]
        kernel = profile.launch.kernel
        combined = self._kernels.setdefault(kernel.mangled, CombinedKernel(kernel.name, kernel.mangled))
        combined.launches += 1
        keys = {
            node.id: NodeKey(names[node.function], node.pc, node.space, node.type) for node in graph.nodes
        }
        for node in graph.nodes:
            key = keys[node.id]
            known = combined.nodes.get(key)
            if known is None:
                source, missing = located(self._locate, profile, node)
                known = combined.nodes[key] = CombinedNode(key, node.size, source, missing)
            known.size = max(known.size, node.size)
            known.work += Totals.of([node])
            for position, weight in enumerate(graph.weights(node)):
                known.weights[position] += weight
        for edge in graph.edges:
            origin = None if edge.origin is None else keys[edge.origin]
            combined.nodes[keys[edge.node]].origins[edge.label, origin] += edge.bytes
            if origin is not None:
                combined.nodes[origin].users[edge.label, keys[edge.node]] += edge.bytes

    def add_all(self, graphs: Iterable[Graph]) -> None:
        """Add many launches."""
        for graph in graphs:
            self.add(graph)
