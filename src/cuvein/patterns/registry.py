"""The list of all patterns, in the order in which they are documented."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.patterns import (
    atomic_contention,
    bank_conflict,
    block_dominant_reuse,
    broadcast,
    constant_candidate,
    grid_dominant_reuse,
    local_memory,
    multicast,
    poor_coalescing,
    race_candidate,
    redundant_read,
    redundant_write,
    removable_barrier,
    shared_memory_abuse,
    streaming,
)

if TYPE_CHECKING:
    from cuvein.patterns.pattern import Pattern

__all__ = ["PATTERNS", "pattern_named"]

PATTERNS: tuple[Pattern, ...] = (
    race_candidate.PATTERN,
    removable_barrier.PATTERN,
    grid_dominant_reuse.PATTERN,
    block_dominant_reuse.PATTERN,
    poor_coalescing.PATTERN,
    broadcast.PATTERN,
    multicast.PATTERN,
    atomic_contention.PATTERN,
    bank_conflict.PATTERN,
    redundant_read.PATTERN,
    redundant_write.PATTERN,
    shared_memory_abuse.PATTERN,
    local_memory.PATTERN,
    streaming.PATTERN,
    constant_candidate.PATTERN,
)


def pattern_named(name: str) -> Pattern:
    """Return the pattern of a name.

    Raises
    ------
    ValueError
        If there is none; the message lists the names.
    """
    for pattern in PATTERNS:
        if pattern.name == name:
            return pattern
    raise ValueError(
        f"There is no pattern {name!r}; the patterns are {', '.join(each.name for each in PATTERNS)}."
    )
