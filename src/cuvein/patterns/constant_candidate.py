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
        if subgraph.footprint <= thresholds.constant_bytes and all(map(is_broadcast, subgraph.nodes)):
            yield Detection(
                [(node, Totals.of([node])) for node in subgraph.nodes],
                partial(_describe, subgraph),
                # What goes by once gains nothing from a cache: it is a candidate by the rule, but no advice.
                highest=None if subgraph.reuse else Severity.INFO,
                caveat=None if subgraph.reuse else _ONCE,
                weight=bool(subgraph.reuse),
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


_ONCE = "Here no byte is read a second time by any warp, so the constant cache would have nothing to serve."

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
