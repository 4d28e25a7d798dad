"""Streaming: bytes touched for the first time, mostly."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cuvein.graph import Totals, coalescing_ratio
from cuvein.graph.labels import index_of
from cuvein.patterns.finding import Description, Detection, Effect, Severity
from cuvein.patterns.pattern import Pattern
from cuvein.patterns.wording import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuvein.graph import Graph
    from cuvein.patterns.thresholds import Thresholds
    from cuvein.profile.model import Node

__all__ = ["PATTERN"]


def _find(graph: Graph, thresholds: Thresholds) -> Iterator[Detection]:
    for node in graph.nodes:
        if node.space != "global":
            continue
        cold = graph.weights(node)[_COLD]
        if cold > thresholds.streaming * node.bytes:
            yield Detection([(node, Totals())], partial(_describe, graph, node, cold))


def _describe(graph: Graph, node: Node, cold: int) -> Description:
    later = sum(edge.bytes for edge in graph.in_edges(node))
    return Description(
        f"{percent(cold / node.bytes)} of the bytes are touched for the first time, "
        f"{percent(later / node.bytes)} "
        "are touched again by a later access.",
        {
            "cold_share": cold / node.bytes,
            "touched_again_share": later / node.bytes,
            "coalescing_ratio": coalescing_ratio(node),
        },
    )


_COLD = index_of("cold")


PATTERN = Pattern(
    name="streaming",
    title="Streaming access",
    scope="other",
    effect=Effect.INFORMS,
    mechanism=(
        "Nothing to reuse: loads and stores that bypass or leave the caches early (ld.global.cs, __stcs) "
        "spare the rest."
    ),
    caveat="Do not bypass what is touched again later in the kernel or by the next one.",
    find=_find,
    highest=Severity.INFO,
)
