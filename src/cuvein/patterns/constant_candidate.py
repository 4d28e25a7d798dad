"""Constant candidate: a small region that is only read, always by broadcast."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cuvein.graph import Totals, reuse_intensity
from cuvein.patterns.finding import Description, Detection, Effect, Severity
from cuvein.patterns.lanes import is_broadcast
from cuvein.patterns.pattern import Pattern
from cuvein.patterns.wording import amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuvein.graph import Graph, Subgraph
    from cuvein.patterns.thresholds import Thresholds

__all__ = ["PATTERN"]


def _find(graph: Graph, thresholds: Thresholds) -> Iterator[Detection]:
    for subgraph in graph.closed_subgraphs:
        # What is read once goes by: constant memory pays when other warps or later reads find it there.
        if (
            subgraph.reuse
            and subgraph.footprint <= thresholds.constant_bytes
            and all(map(is_broadcast, subgraph.nodes))
        ):
            yield Detection(
                [(node, Totals.of([node])) for node in subgraph.nodes], partial(_describe, subgraph)
            )


def _describe(subgraph: Subgraph) -> Description:
    intensity = reuse_intensity(subgraph)
    return Description(
        f"{amount(subgraph.footprint)} of global memory are only read, always by broadcast, each byte "
        f"{intensity:.0f} times.",
        {
            "footprint_bytes": subgraph.footprint,
            "traffic_bytes": subgraph.traffic,
            "reuse_intensity": intensity,
        },
    )


PATTERN = Pattern(
    name="constant-candidate",
    title="Candidate for constant memory",
    scope="other",
    effect=Effect.MOVES,
    mechanism="Put the region in __constant__ memory or pass it as a __grid_constant__ parameter.",
    caveat=(
        "__constant__ memory is set before the launch and holds 64 KiB in all; it serves one address a warp "
        "at a time, so lanes that diverge in address lose."
    ),
    find=_find,
    highest=Severity.LOW,
)
