"""Redundant writes: a thread overwrites unread what it wrote (WAW)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

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


def _find(graph: Graph, thresholds: Thresholds) -> Iterator[Detection]:
    for node in graph.nodes:
        if node.type != "write":
            continue
        touched = redundant = 0
        for edge in graph.in_edges(node):
            touched += edge.bytes
            if edge.label == "thread" and graph.node(edge.node).type == "write":
                redundant += edge.bytes
        if redundant and (redundant == touched or redundant > thresholds.redundancy * touched):
            yield Detection(
                [(node, part_of(node, redundant))],
                partial(_describe, node, redundant, touched),
                variant="WAW",
            )


def _describe(node: Node, redundant: int, touched: int) -> Description:
    full = redundant == touched
    rest = (
        "the rest is not touched again"
        if full
        else f"{percent(redundant / touched)} of what is touched again"
    )
    if redundant == node.bytes:
        rest = "nothing else ever touches them"
    return Description(
        f"{percent(redundant / node.bytes)} of the bytes written are overwritten unread by the same "
        f"thread, {rest}.",
        {
            "kind": "WAW",
            "degree": "full" if full else "partial",
            "redundant_share": redundant / node.bytes,
            "redundant_share_of_later_touches": redundant / touched,
            "overwritten_bytes": redundant,
        },
    )


PATTERN = Pattern(
    name="redundant-write",
    title="Redundant write",
    scope="thread",
    effect=Effect.REMOVES,
    mechanism="Drop the store, or keep the value in a register until its last change and store once.",
    caveat=(
        "The last write of each location has to stay; a store another device, the host or a volatile reader "
        "waits for is not redundant, and the profile cannot see such readers."
    ),
    find=_find,
)
