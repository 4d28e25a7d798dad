"""Comparing profiles of the same program: equal graphs, or how far apart their labels are."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from statistics import mean
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cuvein.profile.model import LaunchProfile

Distribution = dict[tuple[str, str], float]


def nodes(profile: LaunchProfile) -> list[tuple[Any, ...]]:
    """Nodes with what they touched by what it is: allocations are listed by address, which differs by run."""
    known = profile.launch.allocations

    def what(allocation: int | None) -> str:
        return "none" if allocation is None else f"{known[allocation].name} of {known[allocation].size} bytes"

    return [
        (
            msgspec.structs.replace(node, allocations=[]),
            sorted((what(each.allocation), each.bytes) for each in node.allocations),
        )
        for node in profile.nodes
    ]


def graph(profile: LaunchProfile) -> tuple[Any, ...]:
    """What both engines know of a launch; equal for equal executions."""
    return profile.launch.kernel.mangled, profile.coverage, tuple(nodes(profile)), tuple(profile.edges)


def differences(found: LaunchProfile, expected: LaunchProfile) -> list[str]:
    """What of the graphs differs, a sentence each: what one has and the other has not."""
    kernel = expected.launch.kernel.name
    said = [
        f"{kernel}: {name}: {ours}, expected {theirs}"
        for name, ours, theirs in [
            ("kernel", found.launch.kernel.mangled, expected.launch.kernel.mangled),
            ("coverage", found.coverage, expected.coverage),
        ]
        if ours != theirs
    ]
    parts: list[tuple[str, Sequence[Any], Sequence[Any]]] = [
        ("nodes", nodes(found), nodes(expected)),
        ("edges", found.edges, expected.edges),
    ]
    for name, ours, theirs in parts:
        more = [entry for entry in ours if entry not in theirs]
        less = [entry for entry in theirs if entry not in ours]
        if more or less or len(ours) != len(theirs):
            said.append(f"{kernel}: {name}: has {more}, lacks {less}")
    if not said and graph(found) != graph(expected):
        said.append(f"{kernel}: nodes or edges stand in another order")
    return said


def private(profile: LaunchProfile) -> LaunchProfile:
    """The part of the graph that is in local memory."""
    kept = {node.id: node for node in profile.nodes if node.space == "local"}
    edges = [edge for edge in profile.edges if edge.node in kept]
    return msgspec.structs.replace(profile, nodes=list(kept.values()), edges=edges)


def but_for_shared_reads(profile: LaunchProfile) -> LaunchProfile:
    """The graph without what reads of shared memory met; their nodes stay."""
    reads = {node.id for node in profile.nodes if (node.space, node.type) == ("shared", "read")}
    edges = [edge for edge in profile.edges if edge.node not in reads]
    return msgspec.structs.replace(profile, edges=edges)


def uncounted(profile: LaunchProfile) -> LaunchProfile:
    """The graph without the number of accesses on its edges."""
    edges = [msgspec.structs.replace(edge, count=0) for edge in profile.edges]
    return msgspec.structs.replace(profile, edges=edges)


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
