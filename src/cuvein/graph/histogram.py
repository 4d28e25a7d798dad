"""Arithmetic on the histograms of a node: ``[[value, executions], ...]``, values ascending."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuvein.profile.model import Histogram

__all__ = ["mean", "mode", "total", "weighted_sum"]


def total(histogram: Histogram) -> int:
    """Return the number of executions the histogram counts."""
    executions = 0
    for _, count in histogram:
        executions += count
    return executions


def weighted_sum(histogram: Histogram) -> int:
    """Return the sum of the values over all executions, e.g. all sectors a node touched."""
    # Most histograms have one to four entries: a plain loop is twice as fast as sum() over a generator.
    result = 0
    for value, executions in histogram:
        result += value * executions
    return result


def mean(histogram: Histogram) -> float:
    """Return the expected value E[.] over executions; 0 for an empty histogram."""
    result = executions = 0
    for value, count in histogram:
        result += value * count
        executions += count
    return result / executions if executions else 0.0


def mode(histogram: Histogram) -> int:
    """Return the most frequent value, the smaller one of a tie; 0 for an empty histogram."""
    best_value = best_executions = 0
    for value, executions in histogram:
        if executions > best_executions:
            best_value, best_executions = value, executions
    return best_value
