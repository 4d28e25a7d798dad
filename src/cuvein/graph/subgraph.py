"""A set of nodes of a PCDepGraph with their out-edges."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from cuvein.graph.labels import LABELS, index_of
from cuvein.graph.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cuvein.graph.adjacency import Adjacency
    from cuvein.profile.model import Edge, LabelName, Node, SpaceName
    from cuvein.vocabulary import Label

__all__ = ["Subgraph"]

_COLD = index_of("cold")
_SAME_INSTRUCTION = index_of("warp_same_inst")


class Subgraph:
    """Some nodes of a graph, with all their out-edges.

    Attributes
    ----------
    nodes
        The nodes, in the graph's order.
    """

    def __init__(self, adjacency: Adjacency, nodes: Iterable[Node]) -> None:
        self._adjacency = adjacency
        self.nodes: tuple[Node, ...] = tuple(nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, node: Node) -> bool:
        return node.id in self.ids

    def __repr__(self) -> str:
        spaces = "/".join(sorted(self.spaces)) or "no"
        return f"<Subgraph of {len(self.nodes)} {spaces} nodes, {self.traffic} bytes>"

    @cached_property
    def ids(self) -> frozenset[int]:
        """The ids of the nodes."""
        return frozenset(node.id for node in self.nodes)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """The out-edges of the nodes, cold edges included."""
        outgoing = self._adjacency.outgoing
        return tuple(edge for node in self.nodes for edge in outgoing[node.id])

    @cached_property
    def spaces(self) -> frozenset[SpaceName]:
        """The memory spaces of the nodes: one for a minimal closed subgraph."""
        return frozenset(node.space for node in self.nodes)

    @cached_property
    def is_closed(self) -> bool:
        """Whether every non-cold edge at a node of the subgraph, out or in, stays inside."""
        ids, incoming = self.ids, self._adjacency.incoming
        return all(edge.origin is None or edge.origin in ids for edge in self.edges) and all(
            edge.node in ids for node in self.nodes for edge in incoming[node.id]
        )

    @cached_property
    def weights(self) -> Sequence[int]:
        """The sum of W_out(v, l) over the nodes, in bytes, in the order of ``LABELS``."""
        sums = [0] * len(LABELS)
        weights = self._adjacency.weights
        for node in self.nodes:
            for position, weight in enumerate(weights[node.id]):
                sums[position] += weight
        return sums

    def weighted_out_degree(self, label: LabelName | Label | None = None) -> int:
        """Return the sum of W_out(v, l) over the nodes, of W_total(v) without a label."""
        return self.traffic if label is None else self.weights[index_of(label)]

    @cached_property
    def traffic(self) -> int:
        """Bytes on all out-edges of the nodes."""
        return sum(self.weights)

    @property
    def footprint(self) -> int:
        """Bytes on cold edges: for a closed subgraph the distinct bytes it touched."""
        return self.weights[_COLD]

    @property
    def reuse(self) -> int:
        """The sum of W_reuse(v) in bytes: without ``cold`` and ``warp_same_inst``."""
        return self.traffic - self.weights[_COLD] - self.weights[_SAME_INSTRUCTION]

    @cached_property
    def totals(self) -> Totals:
        """Instructions, wavefronts, sectors and bytes of the nodes."""
        return Totals.of(self.nodes)
