"""Comparing profiles of the same program: equal graphs, or how far apart their labels are."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from statistics import mean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cuvein.profile.model import LaunchProfile

Distribution = dict[tuple[str, str], float]


def graph(profile: LaunchProfile) -> tuple[Any, ...]:
    """What both engines know of a launch; equal for equal executions."""
    return profile.launch.kernel.mangled, profile.coverage, tuple(profile.nodes), tuple(profile.edges)


def labels(profiles: Iterable[LaunchProfile]) -> Distribution:
    """Share of the bytes of all launches together, by space and label."""
    total: Counter[tuple[str, str]] = Counter()
    for profile in profiles:
        for edge in profile.edges:
            total[profile.nodes[edge.node].space, edge.label] += edge.bytes
    everything = sum(total.values())
    return {key: count / everything for key, count in total.items()}


def distance(one: Distribution, other: Distribution) -> float:
    """Total variation distance, 0 to 1."""
    return sum(abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other}) / 2


def average(distributions: Sequence[Distribution]) -> Distribution:
    """The mean of several."""
    keys = {key for distribution in distributions for key in distribution}
    return {key: mean(distribution.get(key, 0) for distribution in distributions) for key in keys}


def spread(distributions: Sequence[Distribution]) -> float:
    """The mean distance between two runs."""
    return mean(distance(one, other) for one, other in combinations(distributions, 2))
