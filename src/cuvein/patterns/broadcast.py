"""Broadcast: all lanes read one address."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cuvein.graph import Totals, mean
from cuvein.patterns.finding import Description, Detection, Effect, Severity
from cuvein.patterns.lanes import active_lanes, is_broadcast
from cuvein.patterns.pattern import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuvein.graph import Graph
    from cuvein.patterns.thresholds import Thresholds
    from cuvein.profile.model import Node

__all__ = ["PATTERN"]


def _find(graph: Graph, thresholds: Thresholds) -> Iterator[Detection]:  # noqa: ARG001  (a rule without numbers)
    for node in graph.nodes:
        if is_broadcast(node):
            yield Detection([(node, Totals.of([node]))], partial(_describe, graph, node))


def _describe(graph: Graph, node: Node) -> Description:
    return Description(
        f"{active_lanes(node)} lanes usually read one address ({mean(node.addresses):.1f} on average).",
        {
            "active_lanes": active_lanes(node),
            "distinct_addresses": 1,
            "mean_addresses": mean(node.addresses),
            "warp_same_inst_bytes": graph.weighted_out_degree(node, "warp_same_inst"),
        },
    )


PATTERN = Pattern(
    name="broadcast",
    title="Broadcast read",
    scope="warp",
    effect=Effect.MOVES,
    mechanism=(
        "Read values that are the same for the whole warp through the constant path (__constant__, "
        "__grid_constant__ or a uniform load), or once by one lane and pass them on by a shuffle."
    ),
    caveat=(
        "A broadcast costs one sector already: it is worth the change only where instruction issue limits."
    ),
    find=_find,
    highest=Severity.LOW,
)
