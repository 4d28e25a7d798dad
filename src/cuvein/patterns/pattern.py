"""What a pattern is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuvein.patterns.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cuvein.graph import Graph
    from cuvein.patterns.finding import Detection, Effect
    from cuvein.patterns.thresholds import Thresholds

__all__ = ["Pattern"]


@dataclass(frozen=True)
class Pattern:
    """A mechanical rule over a graph, and what to say when it matches.

    Attributes
    ----------
    name
        What users write: ``--fail-on NAME``.
    title
        A few words for headings.
    scope
        Thread, warp, block, grid or other.
    effect
        What acting on a match does.
    mechanism
        One sentence: the mechanism that serves this scope.
    caveat
        One sentence: when not to.
    find
        Yields the matches in a graph.
    lowest, highest
        The range of severities.
    every_launch
        Whether a match says something only if every launch of the code has it, whatever its shape.
    """

    name: str
    title: str
    scope: str
    effect: Effect
    mechanism: str
    caveat: str
    find: Callable[[Graph, Thresholds], Iterator[Detection]]
    lowest: Severity = Severity.INFO
    highest: Severity = Severity.HIGH
    every_launch: bool = False
