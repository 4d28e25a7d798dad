"""Race candidates: two threads touch a byte, one writes, and no barrier in between.

An asynchronous copy is like another thread: who reads its bytes has to wait for it. A pair may have unordered
edges, hazards that no edge shows because other accesses lie in between, or both.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cuvein.graph import Totals
from cuvein.graph.labels import index_of
from cuvein.patterns.finding import Description, Detection, Effect, Severity
from cuvein.patterns.pattern import Pattern
from cuvein.patterns.wording import amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuvein.graph import Graph
    from cuvein.patterns.thresholds import Thresholds
    from cuvein.profile.model import Edge, Node

__all__ = ["PATTERN", "direction"]

_SCOPE = {
    "thread": "thread",
    "warp_diff_inst": "warp",
    "block": "block",
    "cluster": "cluster",
    "grid": "grid",
}
_NEEDS = {
    "thread": "to wait for the asynchronous copy first (cp.async.wait_group)",
    "warp": "__syncwarp()",
    "block": "__syncthreads()",
    "cluster": "a cluster barrier",
    "grid": "a grid-wide synchronisation or a kernel boundary",
}


def direction(node: Node, origin: Node) -> str:
    """Return RAW, WAR or WAW: what the later access does after the earlier; an atomic is a write."""
    if node.type == "read":
        return "RAW"
    return "WAR" if origin.type == "read" else "WAW"


def _find(graph: Graph, thresholds: Thresholds) -> Iterator[Detection]:
    pairs: dict[tuple[int, int], list[Edge]] = {}
    for edge in graph.edges:
        if edge.unordered and edge.origin is not None and edge.label in _SCOPE:
            pairs.setdefault((edge.node, edge.origin), []).append(edge)
    hazards = {(hazard.node, hazard.origin): hazard.bytes for hazard in graph.profile.hidden_hazards}
    for pair in hazards:
        pairs.setdefault(pair, [])
    for (later, earlier), edges in pairs.items():
        node, origin = graph.node(later), graph.node(earlier)
        hidden = hazards.get((later, earlier), 0)
        unordered = sum(edge.unordered or 0 for edge in edges) + hidden
        if unordered <= thresholds.race_bytes or (
            node.type == origin.type and node.type in ("read", "atomic")
        ):
            continue
        kind = direction(node, origin)
        labels = [edge.label for edge in edges]
        if hidden:
            labels.append("block")
        scope = _SCOPE[max(labels, key=index_of)]
        yield Detection(
            [(node, Totals())] if later == earlier else [(node, Totals()), (origin, Totals())],
            partial(
                _describe, edges, hidden, kind, scope, copied=origin.asynchronous and origin.type == "write"
            ),
            # The same two instructions may race in both directions; the later one comes first.
            variant=kind,
            scope=scope,
            weight=unordered,
            leads=later,
        )


def _describe(edges: list[Edge], hidden: int, kind: str, scope: str, *, copied: bool) -> Description:
    unordered, together = sum(edge.unordered or 0 for edge in edges), sum(edge.bytes for edge in edges)
    amounts = [f"{amount(unordered)} of {amount(together)}"] if edges else []
    if hidden:
        amounts.append(f"{amount(hidden)} that others accessed in between")
    needs = _NEEDS[scope]
    what = "no wait orders" if scope == "thread" else "no barrier orders"
    if copied and scope != "thread":
        needs = f"{_NEEDS['thread']}, then {needs}"
        what = "no wait and barrier order"
    return Description(
        f"{kind} inside the {scope}: {what} {' and '.join(amounts)}; needs {needs}.",
        {
            "direction": kind,
            "scope": scope,
            "unordered_bytes": unordered + hidden,
            "pair_bytes": together + hidden,
            **{f"unordered_{edge.label}_bytes": edge.unordered or 0 for edge in edges},
            **({"unordered_hidden_bytes": hidden} if hidden else {}),
        },
    )


PATTERN = Pattern(
    name="race-candidate",
    title="Race candidate",
    scope="block",
    effect=Effect.CORRECTS,
    mechanism=(
        "Put a barrier of at least that scope between the two accesses, in the loop as well if they "
        "alternate; after an asynchronous copy, the wait for its group before that."
    ),
    caveat=(
        "A candidate, not a proof: order made by means the profile does not follow (flags in memory, fences "
        "with atomics, a race whose outcome does not matter) is not seen."
    ),
    find=_find,
    lowest=Severity.HIGH,
)
