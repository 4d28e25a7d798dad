"""Atomic contention: lanes, warps or blocks update the same words."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from cuvein.graph import Totals
from cuvein.patterns.finding import Description, Detection, Effect
from cuvein.patterns.lanes import active_lanes, distinct_addresses
from cuvein.patterns.pattern import Pattern
from cuvein.patterns.wording import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuvein.graph import Graph
    from cuvein.patterns.thresholds import Thresholds
    from cuvein.profile.model import LabelName, Node

__all__ = ["PATTERN"]

_ACROSS: tuple[LabelName, ...] = ("block", "cluster", "grid")


_IN_SHARED = "This is in shared memory already: what is left is to combine, or a copy for each warp."


def _find(graph: Graph, thresholds: Thresholds) -> Iterator[Detection]:
    for node in graph.nodes:
        if node.type != "atomic":
            continue
        across = sum(graph.weighted_out_degree(node, label) for label in _ACROSS)
        mostly_across = across > thresholds.contention * graph.reuse(node)
        if mostly_across or distinct_addresses(node) < active_lanes(node):
            # Combining in the warp leaves one lane an address; privatising leaves what other warps do not
            # touch.
            contended = graph.weighted_out_degree(node, "warp_same_inst") + (across if mostly_across else 0)
            sectors = _spared_sectors(graph, node, across) if mostly_across else 0
            yield Detection(
                [(node, Totals(sectors=sectors, bytes=contended))],
                partial(_describe, graph, node),
                # They stay in the SM: the same contention costs less than at L2.
                milder=node.space == "shared",
                caveat=_IN_SHARED if node.space == "shared" else None,
            )


def _spared_sectors(graph: Graph, node: Node, across: int) -> int:
    """Return the sectors a private copy for each block spares: each block still adds its copy to memory.

    Lanes that share an address share its sector, so only the rest of the node's bytes stands for sectors.
    """
    subgraph = graph.closed_subgraph_of(node)
    everywhere = sum(
        graph.weighted_out_degree(each, label)
        for each in subgraph.nodes
        if each.type == "atomic"
        for label in _ACROSS
    )
    merges = (prod(graph.profile.launch.grid) - 1) * subgraph.footprint
    spared = across * max(0, everywhere - merges) // everywhere
    apart = node.bytes - graph.weighted_out_degree(node, "warp_same_inst")
    return Totals.of([node]).sectors * spared // apart


def _describe(graph: Graph, node: Node) -> Description:
    lanes, addresses = active_lanes(node), distinct_addresses(node)
    weights = {label: graph.weighted_out_degree(node, label) for label in _ACROSS}
    same = graph.weighted_out_degree(node, "warp_same_inst") / node.bytes
    across, reuse = sum(weights.values()), graph.reuse(node)
    return Description(
        f"{lanes} lanes usually update {addresses} address{'es' if addresses != 1 else ''}: {percent(same)} "
        f"of the "
        f"bytes are contended inside the instruction, {percent(across / node.bytes)} across warps or blocks.",
        {
            "active_lanes": lanes,
            "distinct_addresses": addresses,
            "warp_same_inst_share": same,
            "across_warps_share_of_reuse": across / reuse if reuse else 0.0,
            **{f"{label}_bytes": weight for label, weight in weights.items()},
        },
    )


PATTERN = Pattern(
    name="atomic-contention",
    title="Contended atomic",
    scope="warp",
    effect=Effect.REMOVES,
    mechanism=(
        "Combine in the warp first (reduction over matching lanes, one atomic an address), and privatise: a "
        "copy for each block in shared memory, merged at the end."
    ),
    caveat=(
        "The compiler or hardware may combine lanes of a reduction already; a private copy needs shared "
        "memory for all bins, and pays only if a block updates them often."
    ),
    find=_find,
)
