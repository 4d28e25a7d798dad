"""Who points to whom: what a graph and its subgraphs share.

Subgraphs refer to this instead of the graph, so that no reference cycle forms: the memory of a graph is free
as soon as the last reference to it is gone, which matters when thousands of profiles pass by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.graph.labels import INDEX, LABELS

if TYPE_CHECKING:
    from cuvein.profile.model import Edge, LaunchProfile

__all__ = ["Adjacency"]


class Adjacency:
    """Out-edges, in-edges and label weights of every node of a profile, by the node's position in it."""

    __slots__ = ("incoming", "nodes", "outgoing", "positions", "weights")

    def __init__(self, profile: LaunchProfile) -> None:
        count = len(profile.nodes)
        self.nodes = profile.nodes
        self.positions = {node.id: position for position, node in enumerate(profile.nodes)}
        if len(self.positions) != count:
            raise ValueError(f"Profile {profile.id} has two nodes of one id.")
        self.weights = [[0] * len(LABELS) for _ in range(count)]
        self.outgoing: list[list[Edge]] = [[] for _ in range(count)]
        self.incoming: list[list[Edge]] = [[] for _ in range(count)]
        positions = self.positions
        for edge in profile.edges:
            if (edge.origin is None) != (edge.label == "cold"):
                has = "without" if edge.origin is None else "with"
                raise ValueError(f"Profile {profile.id} has a {edge.label} edge {has} an origin.")
            try:
                source = positions[edge.node]
                if edge.origin is not None:
                    self.incoming[positions[edge.origin]].append(edge)
            except KeyError as error:
                raise ValueError(
                    f"Profile {profile.id} has an edge at node {error}, which it lacks."
                ) from None
            self.outgoing[source].append(edge)
            self.weights[source][INDEX[edge.label]] += edge.bytes
