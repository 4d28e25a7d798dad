"""Which sums over a launch profile are which hardware counters, on compute capability 9.0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cuvein.profile import LaunchProfile
    from cuvein.profile.model import Histogram

__all__ = ["COUNTERS", "OTHERS", "QUANTITIES", "Quantity", "add_up", "of_counters", "of_sums"]

# Words of local memory lie 128 bytes apart for a lane: 8 bytes of it are two requests to the cache, 16 four.
Feature = Literal["requests", "words", "sectors", "wavefronts"]
_IN_WORDS: dict[Feature, str] = {
    "requests": "executions",
    "words": "executions, times words of a lane,",
    "sectors": "sectors",
    "wavefronts": "wavefronts",
}


@dataclass(frozen=True)
class Quantity:
    """A quantity that both count.

    ``nodes`` are kinds of nodes (see ``add_up``) whose ``feature`` is added up; the sum of ``counters`` is
    the hardware's. ``tolerance`` is the goal: the relative difference allowed in a launch.
    """

    nodes: tuple[str, ...]
    feature: Feature
    counters: tuple[str, ...]
    tolerance: float = 0.0

    @property
    def meaning(self) -> str:
        """What is added up, in words."""
        return f"{_IN_WORDS[self.feature]} of nodes {', '.join(self.nodes)}"


def _tags(what: str, space: str, *operations: str) -> tuple[str, ...]:
    return tuple(f"l1tex__t_{what}_pipe_lsu_mem_{space}_op_{name}.sum" for name in operations)


def _instructions(*operations: str) -> tuple[str, ...]:
    return tuple(f"smsp__sass_inst_executed_op_{name}.sum" for name in operations)


def _wavefronts(*operations: str) -> tuple[str, ...]:
    return tuple(f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{name}.sum" for name in operations)


_READ = ("global read", "asynchronous global read")
# Lanes that update one address are served one after the other: the sector counters of the tag stage count a
# sector for each such lane, those that follow the instruction (smsp__sass) count a sector once.
_ATOMIC_SECTORS = tuple(
    f"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_{name}.sum" for name in ("atom", "red")
)

QUANTITIES: dict[str, Quantity] = {
    "global load requests": Quantity(_READ, "requests", _tags("requests", "global", "ld")),
    "global load sectors": Quantity(_READ, "sectors", _tags("sectors", "global", "ld")),
    "global store requests": Quantity(("global write",), "requests", _tags("requests", "global", "st")),
    "global store sectors": Quantity(("global write",), "sectors", _tags("sectors", "global", "st")),
    "global atomic requests": Quantity(
        ("global atomic",), "requests", _tags("requests", "global", "atom", "red")
    ),
    "global atomic sectors": Quantity(("global atomic",), "sectors", _ATOMIC_SECTORS),
    "local load requests": Quantity(("local read",), "words", _tags("requests", "local", "ld")),
    "local load sectors": Quantity(("local read",), "sectors", _tags("sectors", "local", "ld")),
    "local store requests": Quantity(("local write",), "words", _tags("requests", "local", "st")),
    "local store sectors": Quantity(("local write",), "sectors", _tags("sectors", "local", "st")),
    "shared load instructions": Quantity(("shared read",), "requests", _instructions("shared_ld", "ldsm")),
    "shared store instructions": Quantity(
        ("shared write",), "requests", _instructions("shared_st", "shared_stsm")
    ),
    "shared atomic instructions": Quantity(("shared atomic",), "requests", _instructions("shared_atom")),
    "asynchronous copy instructions": Quantity(
        ("asynchronous shared write",), "requests", _instructions("ldgsts")
    ),
    "shared load wavefronts": Quantity(("shared read",), "wavefronts", _wavefronts("ld", "ldsm"), 0.01),
    "shared store wavefronts": Quantity(("shared write",), "wavefronts", _wavefronts("st", "stsm"), 0.01),
    "shared atomic wavefronts": Quantity(("shared atomic",), "wavefronts", _wavefronts("atom"), 0.01),
    "asynchronous copy wavefronts": Quantity(
        ("asynchronous shared write",), "wavefronts", _wavefronts("ldgsts"), 0.01
    ),
}
COUNTERS = sorted({counter for quantity in QUANTITIES.values() for counter in quantity.counters})
# Read too, to see why a quantity is not equal; kept in the raw counts only.
OTHERS = (
    *_tags("sectors", "global", "atom", "red"),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "smsp__inst_executed_op_shared_ld_pred_on_any.sum",
    "smsp__inst_executed_op_generic_ld_pred_on_any.sum",
    "smsp__inst_executed_op_generic_st_pred_on_any.sum",
    "smsp__sass_inst_executed_op_shared_gmma.sum",
    "smsp__inst_executed_op_ldgsts_pred_off_all.sum",
    *_wavefronts("ldgsts_cache_bypass"),
)


def _sum(histogram: Histogram) -> int:
    return sum(value * executions for value, executions in histogram)


def add_up(profile: LaunchProfile) -> dict[str, int]:
    """Add up executions, sectors and wavefronts over the nodes of each kind, and words of local memory.

    A kind is the node's space and type (``global read``), with ``asynchronous`` before it for both halves of
    an asynchronous copy. The keys are kind and feature (``global read sectors``).
    """
    sums: dict[str, int] = {}
    for node in profile.nodes:
        kind = f"{'asynchronous ' if node.asynchronous else ''}{node.space} {node.type}"
        values: dict[Feature, int] = {
            "requests": node.executions,
            "words": node.executions * max(1, node.size // 4) if node.space == "local" else 0,
            "sectors": _sum(node.sectors),
            "wavefronts": _sum(node.wavefronts),
        }
        for feature, value in values.items():
            key = f"{kind} {feature}"
            sums[key] = sums.get(key, 0) + value
    return {key: value for key, value in sums.items() if value}


def of_sums(sums: Mapping[str, int]) -> dict[str, int]:
    """Make each quantity of the sums over a launch profile."""
    return {
        name: sum(sums.get(f"{kind} {quantity.feature}", 0) for kind in quantity.nodes)
        for name, quantity in QUANTITIES.items()
    }


def of_counters(counters: Mapping[str, float]) -> dict[str, int]:
    """Make each quantity of the counters of a launch; those that were not read are left out."""
    return {
        name: round(sum(counters[counter] for counter in quantity.counters))
        for name, quantity in QUANTITIES.items()
        if all(counter in counters for counter in quantity.counters)
    }
