"""Local memory: an array of a thread that registers could hold."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from cuvein.graph import Totals, reuse_intensity
from cuvein.graph.labels import index_of
from cuvein.patterns.finding import Description, Detection, Effect
from cuvein.patterns.pattern import Pattern
from cuvein.patterns.wording import amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuvein.graph import Graph, Subgraph
    from cuvein.patterns.thresholds import Thresholds

__all__ = ["PATTERN"]

_THREAD = index_of("thread")


def _find(graph: Graph, thresholds: Thresholds) -> Iterator[Detection]:  # noqa: ARG001  (a rule without numbers)
    for subgraph in graph.closed_subgraphs:
        if subgraph.spaces == {"local"} and subgraph.weights[_THREAD]:
            yield Detection(
                [(node, Totals.of([node])) for node in subgraph.nodes], partial(_describe, graph, subgraph)
            )


def _describe(graph: Graph, subgraph: Subgraph) -> Description:
    launch = graph.profile.launch
    threads = prod(launch.grid) * prod(launch.block)
    intensity = reuse_intensity(subgraph)
    return Description(
        f"{amount(subgraph.footprint)} of local memory ({subgraph.footprint / threads:.0f} bytes a thread of "
        f"the launch) are touched {intensity:.1f} times each: an array indexed at run time, or one whose "
        "address is passed on. Spills that the compiler marks are not seen.",
        {
            "footprint_bytes": subgraph.footprint,
            "bytes_a_thread": subgraph.footprint / threads,
            "traffic_bytes": subgraph.traffic,
            "reuse_intensity": intensity,
            "nodes": len(subgraph),
        },
    )


PATTERN = Pattern(
    name="local-memory",
    title="Local memory in use",
    scope="thread",
    effect=Effect.REMOVES,
    mechanism=(
        "Let the values live in registers. An array needs indices and loop bounds that the compiler knows "
        "(constants, template parameters, #pragma unroll), and functions that take its address inlined."
    ),
    caveat=(
        "An index that depends on data cannot become a constant: then a select over all elements, or shared "
        "memory, has to serve; more registers lower occupancy."
    ),
    find=_find,
)
