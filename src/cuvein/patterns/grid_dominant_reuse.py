"""Grid-dominant reuse: data that comes back mostly across blocks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cuvein.graph import reuse_intensity, reuse_ratio
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
        if subgraph.spaces == {"global"} and reuse_ratio(subgraph, "grid") > thresholds.dominance:
            yield Detection(
                by_share(graph, subgraph.nodes, ("grid",), instructions=False), partial(_describe, subgraph)
            )


def _describe(subgraph: Subgraph) -> Description:
    ratio = reuse_ratio(subgraph, "grid")
    across = subgraph.weighted_out_degree("grid")
    return Description(
        f"{percent(ratio)} of the reuse of {amount(subgraph.footprint)} of global memory crosses blocks "
        f"({amount(across)}).",
        {
            "reuse_ratio_grid": ratio,
            "grid_bytes": across,
            "footprint_bytes": subgraph.footprint,
            "traffic_bytes": subgraph.traffic,
            "reuse_intensity": reuse_intensity(subgraph),
        },
    )


PATTERN = Pattern(
    name="grid-dominant-reuse",
    title="Reuse across blocks",
    scope="grid",
    effect=Effect.MOVES,
    mechanism=(
        "L2 serves reuse across blocks: order the blocks so that sharers run together, tile so that one "
        "block reuses more, or keep the region in L2 by an access policy window, with no more of L2 set "
        "aside than it takes."
    ),
    caveat="If the footprint fits L2 and the kernel is not bound by L2 bandwidth, there is little to gain.",
    find=_find,
    highest=Severity.MEDIUM,
)
