"""The metrics of nodes and subgraphs, with the names of the paper's Section 3."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from cuvein.graph.histogram import weighted_sum
from cuvein.graph.labels import index_of
from cuvein.vocabulary import SECTOR_BYTES, Label

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.graph.subgraph import Subgraph
    from cuvein.profile.model import LabelName, Node

__all__ = ["coalescing_ratio", "conflict_ratio", "ideal_sectors", "reuse_intensity", "reuse_ratio"]


def reuse_ratio(subgraph: Subgraph, label: LabelName | Label | Iterable[LabelName | Label]) -> float:
    """Return r(l): which part of a subgraph's reuse comes from a scope, or from several scopes together.

    ``cold`` and ``warp_same_inst`` bytes are not reuse and have no ratio. A subgraph without reuse has ratio
    0.

    Raises
    ------
    ValueError
        If a label is ``cold`` or ``warp_same_inst``, or is none at all.
    """
    labels = [label] if isinstance(label, (str, Label)) else list(label)
    positions = {index_of(each) for each in labels}
    if positions & {int(Label.COLD), int(Label.WARP_SAME_INST)}:
        raise ValueError("cold and warp_same_inst are not reuse, so they have no reuse ratio.")
    reuse = subgraph.reuse
    return sum(subgraph.weights[position] for position in positions) / reuse if reuse else 0.0


def reuse_intensity(subgraph: Subgraph) -> float:
    """Return RI: traffic over unique footprint of a closed subgraph, how often its data is touched.

    Infinity when there is traffic but no cold byte.

    Raises
    ------
    ValueError
        If the subgraph is not closed: then its cold bytes are not its footprint.
    """
    if not subgraph.is_closed:
        raise ValueError(
            "Reuse intensity is defined for closed subgraphs only; this one has edges that leave it."
        )
    if not subgraph.footprint:
        return inf if subgraph.traffic else 0.0
    return subgraph.traffic / subgraph.footprint


def ideal_sectors(node: Node) -> int:
    """Return the sectors all executions would touch if their active lanes lay side by side."""
    size = node.size
    ideal = 0
    for lanes, executions in node.lanes:
        ideal += -(-lanes * size // SECTOR_BYTES) * executions
    return ideal


def coalescing_ratio(node: Node) -> float:
    """Return R_coal: E[sectors] / E[ceil(active lanes x access size / 32)] of a global or local node.

    1 is ideal, more is waste; below 1 lanes share addresses. 0 for nodes that touch no sectors (shared
    memory).
    """
    ideal = ideal_sectors(node) if node.sectors else 0
    return weighted_sum(node.sectors) / ideal if ideal else 0.0


def conflict_ratio(node: Node) -> float:
    """Return R_conf: E[wavefronts] / E[ideal wavefronts] of a shared-memory node.

    1 is free of bank conflicts. 0 for nodes without wavefronts (global and local memory).
    """
    ideal = weighted_sum(node.ideal_wavefronts)
    return weighted_sum(node.wavefronts) / ideal if ideal else 0.0
