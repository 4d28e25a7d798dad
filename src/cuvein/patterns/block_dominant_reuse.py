"""Block-dominant reuse: global memory that is reused inside a block."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cuvein.graph import WITHIN_BLOCK, reuse_intensity, reuse_ratio
from cuvein.patterns.finding import Description, Detection, Effect, Severity
from cuvein.patterns.pattern import Pattern
from cuvein.patterns.sharing import by_share
from cuvein.patterns.wording import amount, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuvein.graph import Graph, Subgraph
    from cuvein.patterns.thresholds import Thresholds

__all__ = ["PATTERN"]


def _find(graph: Graph, thresholds: Thresholds) -> Iterator[Detection]:
    for subgraph in graph.closed_subgraphs:
        if subgraph.spaces == {"global"} and reuse_ratio(subgraph, WITHIN_BLOCK) > thresholds.dominance:
            yield Detection(
                by_share(graph, subgraph.nodes, WITHIN_BLOCK, instructions=False),
                partial(_describe, subgraph),
            )


def _describe(subgraph: Subgraph) -> Description:
    ratio = reuse_ratio(subgraph, WITHIN_BLOCK)
    inside = {label: subgraph.weighted_out_degree(label) for label in WITHIN_BLOCK}
    widest = "block" if inside["block"] else "warp" if inside["warp_diff_inst"] else "thread"
    return Description(
        f"{percent(ratio)} of the reuse of {amount(subgraph.footprint)} of global memory stays inside a "
        f"{widest} ({amount(sum(inside.values()))}).",
        {
            "reuse_ratio_within_block": ratio,
            **{f"{label}_bytes": weight for label, weight in inside.items()},
            "footprint_bytes": subgraph.footprint,
            "traffic_bytes": subgraph.traffic,
            "reuse_intensity": reuse_intensity(subgraph),
        },
    )


PATTERN = Pattern(
    name="block-dominant-reuse",
    title="Global memory reused inside a block",
    scope="block",
    effect=Effect.MOVES,
    mechanism=(
        "Stage the data in shared memory where warps share it, exchange it by shuffles where a warp does, "
        "keep it in registers where one thread does."
    ),
    caveat=(
        "L1 may serve this reuse already; shared memory and registers cost occupancy, so check that the tile "
        "fits."
    ),
    find=_find,
    highest=Severity.MEDIUM,
)
