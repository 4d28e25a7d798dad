"""Poor coalescing: a warp touches more sectors than its bytes need."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cuvein.graph import Totals, coalescing_ratio, ideal_sectors, mean, weighted_sum
from cuvein.patterns.finding import Description, Detection, Effect
from cuvein.patterns.lanes import active_lanes
from cuvein.patterns.pattern import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuvein.graph import Graph
    from cuvein.patterns.thresholds import Thresholds
    from cuvein.profile.model import Node

__all__ = ["PATTERN"]


def _find(graph: Graph, thresholds: Thresholds) -> Iterator[Detection]:
    for node in graph.nodes:
        if not node.sectors or active_lanes(node) <= 1:
            continue
        ratio = coalescing_ratio(node)
        if ratio > 1 and ratio >= thresholds.coalescing:
            excess = weighted_sum(node.sectors) - ideal_sectors(node)
            yield Detection(
                [(node, Totals(sectors=excess))],
                partial(_describe, node, ratio),
                caveat=_LOCAL if node.space == "local" else None,
            )


def _describe(node: Node, ratio: float) -> Description:
    ideal = ideal_sectors(node)
    return Description(
        f"{mean(node.sectors):.1f} sectors an instruction where {ideal / node.executions:.1f} would do: "
        f"ratio {ratio:.2f} at {mean(node.lanes):.1f} active lanes of {node.size} bytes.",
        {
            "coalescing_ratio": ratio,
            "sectors": weighted_sum(node.sectors),
            "ideal_sectors": ideal,
            "mean_sectors": mean(node.sectors),
            "mean_lanes": mean(node.lanes),
            "access_bytes": node.size,
        },
    )


_LOCAL = "In local memory the layout is the compiler's: look for arrays indexed at run time."


PATTERN = Pattern(
    name="poor-coalescing",
    title="Poor coalescing",
    scope="warp",
    effect=Effect.REMOVES,
    mechanism=(
        "Let neighbouring lanes touch neighbouring addresses: change the layout (array of structures to "
        "structure of arrays), use vector accesses, or stage a tile through shared memory."
    ),
    caveat=(
        "Sectors that another instruction of the warp uses soon after may come from L1; a gather whose "
        "indices are data cannot be coalesced without reordering the data."
    ),
    find=_find,
)
