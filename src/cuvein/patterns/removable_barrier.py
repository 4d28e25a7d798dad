"""Removable barriers: block barriers that no two accesses of different threads need."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cuvein.graph import Totals
from cuvein.patterns.finding import Description, Detection, Effect, Severity
from cuvein.patterns.pattern import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuvein.graph import Graph
    from cuvein.patterns.thresholds import Thresholds
    from cuvein.profile.model import Barrier

__all__ = ["PATTERN"]


def _find(graph: Graph, thresholds: Thresholds) -> Iterator[Detection]:  # noqa: ARG001  (a rule without numbers)
    barriers = graph.profile.barriers or []
    idle = [barrier for barrier in barriers if barrier.ordered_bytes == 0]
    if not idle or not _everything_is_known(graph):
        return
    for barrier in idle:
        yield Detection(
            [(barrier, Totals())], partial(_describe, barriers, barrier), weight=barrier.executions
        )


def _everything_is_known(graph: Graph) -> bool:
    """Say whether all that a block barrier may be there for is in the graph."""
    profile = graph.profile
    if profile.incomplete is not None or profile.coverage.lost_records or profile.coverage.not_analysed:
        return False
    # A barrier may pass on the order that one thread gets from an mbarrier, a cluster or another block.
    if any(barrier.kind in ("cluster", "mbarrier") for barrier in profile.barriers or ()):
        return False
    for edge in graph.edges:
        if edge.label in ("cluster", "grid") and edge.origin is not None:
            types = {graph.node(edge.node).type, graph.node(edge.origin).type}
            if "write" in types or len(types) > 1:
                return False
    return True


def _describe(barriers: list[Barrier], barrier: Barrier) -> Description:
    of = sum(each.executions for each in barriers if each.kind == "block")
    return Description(
        "No two threads of the block met in memory across this barrier without another barrier in between "
        f"({barrier.executions:,} of the {of:,} arrivals of warps at block barriers).",
        {
            "executions": barrier.executions,
            "barrier_executions": of,
            "ordered_bytes": 0,
        },
    )


PATTERN = Pattern(
    name="removable-barrier",
    title="Removable barrier",
    scope="block",
    effect=Effect.REMOVES,
    mechanism=(
        "Drop the barrier. All that are reported for a kernel can go together: those that stay order all that"
        " was seen."
    ),
    caveat=(
        "It holds for the accesses of these launches; other inputs and launch shapes may need the barrier, "
        "as where threads find their places through data. One that returns a value (__syncthreads_and, _or, "
        "_count), or precedes a signal to other blocks or the host, is there for that."
    ),
    find=_find,
    lowest=Severity.LOW,
    every_launch=True,
)
