"""Every number the patterns compare with, by name."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Thresholds"]


@dataclass(frozen=True)
class Thresholds:
    """The thresholds of the patterns and of severity.

    On the command line and in rules files the names are written with hyphens: ``--threshold coalescing=2``.

    Attributes
    ----------
    dominance
        ``grid-dominant-reuse`` and ``block-dominant-reuse`` report a closed subgraph whose reuse ratio is
        above this.
    coalescing
        ``poor-coalescing`` reports a node whose coalescing ratio is at least this. Above 1 there is some
        waste.
    conflict
        ``bank-conflict`` reports a node whose conflict ratio is at least this.
    contention
        ``atomic-contention`` reports an atomic if more than this share of its reuse crosses warps or blocks.
    redundancy
        ``redundant-read`` and ``redundant-write`` report a node as partial if more than this share of its
        non-cold bytes is redundant. At a share of 1 a node is reported as full whatever the threshold.
    streaming
        ``streaming`` reports a node if more than this share of its bytes is cold.
    constant_bytes
        ``constant-candidate`` reports a region of at most this many bytes: the size of ``__constant__``
        memory.
    race_bytes
        ``race-candidate`` reports a pair of instructions with more than this many unordered bytes.
    low, medium, high
        A finding has the severity of the largest of these that its share of the kernel reaches (`Severity`).
    """

    dominance: float = 0.8
    coalescing: float = 1.5
    conflict: float = 1.1
    contention: float = 0.5
    redundancy: float = 0.5
    streaming: float = 0.95
    constant_bytes: int = 65536
    race_bytes: int = 0
    low: float = 0.01
    medium: float = 0.05
    high: float = 0.25

    @classmethod
    def names(cls) -> list[str]:
        """Return the names as users write them."""
        return [field.name.replace("_", "-") for field in fields(cls)]

    def changed(self, values: Mapping[str, float]) -> Thresholds:
        """Return thresholds with some values replaced, by the names users write.

        Raises
        ------
        ValueError
            If a name is unknown or a value negative. The message is one sentence.
        """
        known = self.names()
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"There is no threshold {name!r}; the thresholds are {', '.join(known)}.")
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
                raise ValueError(
                    f"Threshold {name} is {value!r}, but has to be a number that is not negative."
                )
        changes: dict[str, Any] = {name.replace("-", "_"): value for name, value in values.items()}
        return replace(self, **changes)
