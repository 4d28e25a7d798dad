"""Redundant reads: a thread reads again what it read (RAR) or wrote (RAW) last."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cuvein.graph.labels import index_of
from cuvein.patterns.finding import Description, Detection, Effect
from cuvein.patterns.pattern import Pattern
from cuvein.patterns.sharing import part_of
from cuvein.patterns.wording import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuvein.graph import Graph
    from cuvein.patterns.thresholds import Thresholds
    from cuvein.profile.model import Node

__all__ = ["PATTERN"]

_COLD = index_of("cold")
_THREAD = index_of("thread")


def _find(graph: Graph, thresholds: Thresholds) -> Iterator[Detection]:
    nodes = graph.nodes
    for node in nodes:
        weights = graph.weights(node)
        if node.type != "read" or not weights[_THREAD]:
            continue
        after = {"read": 0, "write": 0, "atomic": 0}
        for edge in graph.out_edges(node):
            if edge.label == "thread" and edge.origin is not None:
                after[nodes[edge.origin].type] += edge.bytes
        # A read after the thread's own atomic may see what other threads did to the word in between.
        redundant = after["read"] + after["write"]
        non_cold = node.bytes - weights[_COLD]
        if redundant and (redundant == non_cold or redundant > thresholds.redundancy * non_cold):
            kind = "RAR+RAW" if after["read"] and after["write"] else "RAR" if after["read"] else "RAW"
            yield Detection(
                [(node, part_of(node, redundant))],
                partial(_describe, node, kind, after, non_cold),
                variant=kind,
                caveat=_LOCAL if node.space == "local" else None,
            )


def _describe(node: Node, kind: str, after: dict[str, int], non_cold: int) -> Description:
    redundant = after["read"] + after["write"]
    full = redundant == non_cold
    of_reuse = "all" if full else percent(redundant / non_cold)
    return Description(
        f"{percent(redundant / node.bytes)} of the bytes were last {_WORDS[kind]} by the same thread, "
        f"which is {of_reuse} of its reuse.",
        {
            "kind": kind,
            "degree": "full" if full else "partial",
            "redundant_share": redundant / node.bytes,
            "redundant_share_of_reuse": redundant / non_cold,
            "after_read_bytes": after["read"],
            "after_write_bytes": after["write"],
        },
    )


_LOCAL = (
    "In local memory this is an array indexed at run time or passed by address: look at loop bounds that the "
    "compiler cannot see and at functions that are not inlined."
)


_WORDS = {"RAR": "read", "RAW": "written", "RAR+RAW": "read or written"}

PATTERN = Pattern(
    name="redundant-read",
    title="Redundant read",
    scope="thread",
    effect=Effect.REMOVES,
    mechanism=(
        "Keep the value in a register between the two accesses (hoist the load, unroll, mark pointers "
        "__restrict__)."
    ),
    caveat=(
        "Registers are limited: if occupancy falls because of the values kept, the reload may be the cheaper "
        "choice; a volatile or spinning read is meant to be repeated."
    ),
    find=_find,
)
