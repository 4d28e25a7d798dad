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
    """Out-edges, in-edges and label weights of every node of a profile, by the node's id.

    Ids are positions in ``profile.nodes``: reading a profile insists on it.
    """

    __slots__ = ("incoming", "nodes", "outgoing", "weights")

    def __init__(self, profile: LaunchProfile) -> None:
        count = len(profile.nodes)
        if [node.id for node in profile.nodes] != list(range(count)):
            raise ValueError(f"The nodes of profile {profile.id} are not numbered from 0 in their order.")
        self.nodes = profile.nodes
        weights = self.weights = [[0] * len(LABELS) for _ in range(count)]
        outgoing: list[list[Edge]] = [[] for _ in range(count)]
        incoming: list[list[Edge]] = [[] for _ in range(count)]
        self.outgoing, self.incoming = outgoing, incoming
        for edge in profile.edges:
            node, origin, label = edge.node, edge.origin, edge.label
            if (origin is None) != (label == "cold"):
                has = "without" if origin is None else "with"
                raise ValueError(f"Profile {profile.id} has a {label} edge {has} an origin.")
            try:
                outgoing[node].append(edge)
                if origin is not None:
                    incoming[origin].append(edge)
            except IndexError:
                raise ValueError(f"Profile {profile.id} has an edge at a node it lacks.") from None
            weights[node][INDEX[label]] += edge.bytes
