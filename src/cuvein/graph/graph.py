"""PCDepGraph: the memory reuse of one launch as a directed graph over program counters."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from cuvein.graph.adjacency import Adjacency
from cuvein.graph.labels import index_of
from cuvein.graph.subgraph import Subgraph
from cuvein.graph.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from cuvein.profile.model import Edge, LabelName, LaunchProfile, Node, SpaceName, TypeName
    from cuvein.vocabulary import Label

__all__ = ["Graph"]

_COLD = index_of("cold")
_SAME_INSTRUCTION = index_of("warp_same_inst")


class Graph:
    """PCDepGraph of one launch.

    A node is one program counter in one memory space. An edge points from an access back to where its bytes
    were last touched; its weight is in bytes. Cold edges point to no node (``edge.origin is None``), which
    stands for the special node *untracked*.

    Parameters
    ----------
    profile
        The launch profile to read the graph from.

    Raises
    ------
    ValueError
        If an edge names a node the profile does not have, or a label and an origin contradict each other.
    """

    def __init__(self, profile: LaunchProfile) -> None:
        self.profile = profile
        self.nodes: Sequence[Node] = profile.nodes
        self.edges: Sequence[Edge] = profile.edges
        self._adjacency = Adjacency(profile)

    def __repr__(self) -> str:
        name = self.profile.launch.kernel.name
        return f"<Graph of {name}: {len(self.nodes)} nodes, {len(self.edges)} edges>"

    def node(self, identifier: int) -> Node:
        """Return the node of an id. Raises ``IndexError`` if there is none."""
        return self.nodes[identifier]

    def out_edges(self, node: Node) -> Sequence[Edge]:
        """Return the edges from a node to its reuse origins, cold edges included: E_out(v)."""
        return self._adjacency.outgoing[node.id]

    def in_edges(self, node: Node) -> Sequence[Edge]:
        """Return the edges whose reuse origin is the node: E_in(v)."""
        return self._adjacency.incoming[node.id]

    def weights(self, node: Node) -> Sequence[int]:
        """Return W_out(v, l) in bytes for every label, in the order of ``LABELS``."""
        return self._adjacency.weights[node.id]

    def weighted_out_degree(self, node: Node, label: LabelName | Label | None = None) -> int:
        """Return W_out(v, l), the bytes on the node's out-edges of a label; W_total(v) without a label."""
        weights = self.weights(node)
        return sum(weights) if label is None else weights[index_of(label)]

    def reuse(self, node: Node) -> int:
        """Return W_reuse(v): the node's bytes without ``cold`` and ``warp_same_inst``."""
        weights = self.weights(node)
        return sum(weights) - weights[_COLD] - weights[_SAME_INSTRUCTION]

    @cached_property
    def whole(self) -> Subgraph:
        """The graph as one (closed) subgraph."""
        return Subgraph(self._adjacency, self.nodes)

    @cached_property
    def totals(self) -> Totals:
        """Instructions, wavefronts, sectors and bytes of the launch: what shares are shares of."""
        return Totals.of(self.nodes)

    @cached_property
    def closed_subgraphs(self) -> tuple[Subgraph, ...]:
        """The minimal closed subgraphs, by traffic, heaviest first.

        They are the weakly connected components over non-cold edges. Each stands for one data object or tile.
        """
        parents = list(range(len(self.nodes)))

        def root(node: int) -> int:
            while parents[node] != node:
                parents[node] = parents[parents[node]]
                node = parents[node]
            return node

        for edge in self.edges:
            node, origin = edge.node, edge.origin
            # Most edges join what is joined already.
            if origin is not None and parents[node] != parents[origin]:
                parents[root(node)] = root(origin)
        members: dict[int, list[Node]] = {}
        for each in self.nodes:
            members.setdefault(root(each.id), []).append(each)
        subgraphs = [Subgraph(self._adjacency, nodes) for nodes in members.values()]
        subgraphs.sort(key=lambda subgraph: (-subgraph.traffic, subgraph.nodes[0].id))
        return tuple(subgraphs)

    def closed_subgraph_of(self, node: Node) -> Subgraph:
        """Return the minimal closed subgraph that holds a node."""
        return self._subgraph_by_node[node.id]

    @cached_property
    def _subgraph_by_node(self) -> dict[int, Subgraph]:
        return {node.id: subgraph for subgraph in self.closed_subgraphs for node in subgraph.nodes}

    def subgraph(self, nodes: Iterable[Node | int]) -> Subgraph:
        """Return the subgraph of the given nodes (or node ids), closed or not."""
        chosen = {node if isinstance(node, int) else node.id for node in nodes}
        unknown = chosen - set(range(len(self.nodes)))
        if unknown:
            raise KeyError(f"The graph has no node {min(unknown)}.")
        return Subgraph(self._adjacency, [node for node in self.nodes if node.id in chosen])

    def select(
        self,
        *,
        space: SpaceName | None = None,
        type: TypeName | None = None,  # noqa: A002  (the word of the model)
        function: str | None = None,
        where: Callable[[Node], bool] | None = None,
    ) -> Subgraph:
        """Return the subgraph of the nodes that meet every condition given.

        Parameters
        ----------
        space, type
            Memory space and access type.
        function
            Mangled or demangled name of the function that holds the instruction.
        where
            Any further condition.
        """
        functions = self.profile.launch.functions

        def meets(node: Node) -> bool:
            if space is not None and node.space != space:
                return False
            if type is not None and node.type != type:
                return False
            if function is not None:
                holder = functions[node.function]
                if function not in (holder.name, holder.mangled):
                    return False
            return where is None or where(node)

        return Subgraph(self._adjacency, [node for node in self.nodes if meets(node)])

    def to_networkx(self) -> Any:
        """Return the graph as a ``networkx.MultiDiGraph``; see `cuvein.graph.export.to_networkx`."""
        from cuvein.graph.export import to_networkx  # noqa: PLC0415  (an optional dependency's gate)

        return to_networkx(self)

    def to_arrow(self) -> tuple[Any, Any]:
        """Return nodes and edges as two ``pyarrow.Table``; see `cuvein.graph.export.to_arrow`."""
        from cuvein.graph.export import to_arrow  # noqa: PLC0415

        return to_arrow(self)
