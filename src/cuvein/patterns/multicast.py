"""Multicast: groups of lanes read the same addresses."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cuvein.graph import Totals, mean
from cuvein.patterns.finding import Description, Detection, Effect, Severity
from cuvein.patterns.lanes import active_lanes, distinct_addresses, is_multicast
from cuvein.patterns.pattern import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuvein.graph import Graph
    from cuvein.patterns.thresholds import Thresholds
    from cuvein.profile.model import Node

__all__ = ["PATTERN"]


def _find(graph: Graph, thresholds: Thresholds) -> Iterator[Detection]:  # noqa: ARG001  (a rule without numbers)
    for node in graph.nodes:
        if is_multicast(node):
            # The sectors are needed once in any case: what can go is what lanes fetch again for each other.
            same = graph.weighted_out_degree(node, "warp_same_inst")
            yield Detection([(node, Totals(bytes=same))], partial(_describe, node, same))


def _describe(node: Node, same: int) -> Description:
    lanes, addresses = active_lanes(node), distinct_addresses(node)
    return Description(
        f"{lanes} lanes usually read {addresses} addresses ({mean(node.addresses):.1f} on average).",
        {
            "active_lanes": lanes,
            "distinct_addresses": addresses,
            "mean_addresses": mean(node.addresses),
            "warp_same_inst_bytes": same,
        },
    )


PATTERN = Pattern(
    name="multicast",
    title="Multicast read",
    scope="warp",
    effect=Effect.MOVES,
    mechanism="Let one lane of each group load the value, wider if possible, and pass it on by a shuffle.",
    caveat=(
        "Lanes that read the same sector already share one transaction; a shuffle costs an instruction of "
        "its own."
    ),
    find=_find,
    highest=Severity.LOW,
)
