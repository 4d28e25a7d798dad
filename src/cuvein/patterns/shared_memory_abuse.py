"""Shared-memory abuse: shared memory that no two threads share."""

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

_COLD = index_of("cold")
_THREAD = index_of("thread")
_REGISTER_BYTES = 4


def _find(graph: Graph, thresholds: Thresholds) -> Iterator[Detection]:  # noqa: ARG001  (a rule without numbers)
    for subgraph in graph.closed_subgraphs:
        thread = subgraph.weights[_THREAD]
        if subgraph.spaces == {"shared"} and thread and thread + subgraph.weights[_COLD] == subgraph.traffic:
            asynchronous = any(node.asynchronous for node in subgraph.nodes)
            yield Detection(
                [(node, Totals.of([node])) for node in subgraph.nodes],
                partial(_describe, graph, subgraph),
                caveat=_ASYNCHRONOUS if asynchronous else None,
            )


def _describe(graph: Graph, subgraph: Subgraph) -> Description:
    thread = subgraph.weights[_THREAD]
    launch = graph.profile.launch
    threads = prod(launch.grid) * prod(launch.block)
    registers = -(-subgraph.footprint // (threads * _REGISTER_BYTES))
    return Description(
        "No two threads share this shared memory: only one thread ever touches a byte "
        f"({amount(thread)} of reuse on {amount(subgraph.footprint)}; registers needed in each "
        f"thread of the launch: {registers:,}).",
        {
            "thread_bytes": thread,
            "footprint_bytes": subgraph.footprint,
            "reuse_intensity": reuse_intensity(subgraph),
            "nodes": len(subgraph),
            "registers_a_thread": registers,
        },
    )


_ASYNCHRONOUS = (
    "Here asynchronous copies fill it, which can only target shared memory: it may be a pipeline on purpose."
)


PATTERN = Pattern(
    name="shared-memory-abuse",
    title="Thread-private data in shared memory",
    scope="thread",
    effect=Effect.REMOVES,
    mechanism="Keep the values in registers; what is left of the allocation then needs less shared memory.",
    caveat=(
        "An array indexed at run time cannot live in registers, and too many registers lower occupancy; if "
        "only some threads use the memory, each of them needs more."
    ),
    find=_find,
)
