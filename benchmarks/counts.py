"""Which sums over a launch profile are which hardware counters, on compute capability 9.0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cuvein.profile import LaunchProfile
    from cuvein.profile.model import Histogram

__all__ = ["COUNTERS", "QUANTITIES", "Quantity", "features", "of_counters", "of_profile"]

Feature = Literal["requests", "sectors", "wavefronts"]


@dataclass(frozen=True)
class Quantity:
    """A quantity that both count.

    ``nodes`` are kinds of nodes (see ``features``) whose ``feature`` is added up; the sum of ``counters`` is
    the hardware's. ``tolerance`` is the goal: the relative difference allowed in a launch.
    """

    nodes: tuple[str, ...]
    feature: Feature
    counters: tuple[str, ...]
    tolerance: float = 0.0

    @property
    def meaning(self) -> str:
        """What is added up, in words."""
        what = {"requests": "executions", "sectors": "sectors", "wavefronts": "wavefronts"}[self.feature]
        return f"{what} of nodes {', '.join(self.nodes)}"


def _memory(space: str, operation: str, *nodes: str) -> dict[str, Quantity]:
    def counters(what: str) -> tuple[str, ...]:
        return tuple(f"l1tex__t_{what}_pipe_lsu_mem_{space}_op_{name}.sum" for name in operation.split())

    kind = {"ld": "load", "st": "store", "atom red": "atomic"}[operation]
    return {
        f"{space} {kind} requests": Quantity(nodes, "requests", counters("requests")),
        f"{space} {kind} sectors": Quantity(nodes, "sectors", counters("sectors")),
    }


QUANTITIES: dict[str, Quantity] = {
    **_memory("global", "ld", "global read"),
    **_memory("global", "st", "global write"),
    **_memory("global", "atom red", "global atomic"),
    **_memory("local", "ld", "local read"),
    **_memory("local", "st", "local write"),
    "shared load instructions": Quantity(
        ("shared read",),
        "requests",
        ("smsp__inst_executed_op_shared_ld.sum", "smsp__inst_executed_op_ldsm.sum"),
    ),
    "shared store instructions": Quantity(
        ("shared write",), "requests", ("smsp__inst_executed_op_shared_st.sum",)
    ),
    "shared atomic instructions": Quantity(
        ("shared atomic",), "requests", ("smsp__inst_executed_op_shared_atom.sum",)
    ),
    "shared load wavefronts": Quantity(
        ("shared read",), "wavefronts", ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",), 0.01
    ),
    "shared store wavefronts": Quantity(
        ("shared write",), "wavefronts", ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",), 0.01
    ),
}
COUNTERS = sorted({counter for quantity in QUANTITIES.values() for counter in quantity.counters})


def _sum(histogram: Histogram) -> int:
    return sum(value * executions for value, executions in histogram)


def features(profile: LaunchProfile) -> dict[tuple[str, Feature], int]:
    """Sum executions, sectors and wavefronts over the nodes of each kind.

    A kind is the node's space and type (``global read``), with ``asynchronous`` before it for both halves of
    an asynchronous copy.
    """
    sums: dict[tuple[str, Feature], int] = {}
    for node in profile.nodes:
        kind = f"{'asynchronous ' if node.asynchronous else ''}{node.space} {node.type}"
        values: dict[Feature, int] = {
            "requests": node.executions,
            "sectors": _sum(node.sectors),
            "wavefronts": _sum(node.wavefronts),
        }
        for feature, value in values.items():
            sums[kind, feature] = sums.get((kind, feature), 0) + value
    return sums


def of_profile(profile: LaunchProfile) -> dict[str, int]:
    """Add up each quantity over a launch profile."""
    sums = features(profile)
    return {
        name: sum(sums.get((kind, quantity.feature), 0) for kind in quantity.nodes)
        for name, quantity in QUANTITIES.items()
    }


def of_counters(counters: Mapping[str, float]) -> dict[str, int]:
    """Add up each quantity over the counters of a launch; those that were not read are left out."""
    return {
        name: round(sum(counters[counter] for counter in quantity.counters))
        for name, quantity in QUANTITIES.items()
        if all(counter in counters for counter in quantity.counters)
    }
