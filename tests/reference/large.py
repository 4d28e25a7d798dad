"""A run that is large for a report: 2,000 launches, the first with 1,000 nodes and 10,000 edges."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import msgspec

from cuvein.profile.model import Coverage, Edge
from reference.sample import PROFILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuvein.profile.model import LabelName, LaunchProfile

__all__ = ["launches"]


def launches() -> Iterator[LaunchProfile]:
    """Make 2,000 launches, the first with 1,000 nodes and 10,000 edges."""
    chance = random.Random(1)
    kinds = [profile_of(chance, number, 30, 120) for number in range(40)]
    yield msgspec.structs.replace(profile_of(chance, 99, 1000, 10_000), id="large/1")
    for number in range(2, 2001):
        kind = chance.choice(kinds)
        launch = msgspec.structs.replace(kind.launch, sequence=number)
        # No two graphs are equal, so that none is stored once for several.
        first = msgspec.structs.replace(kind.edges[-1], count=number)
        yield msgspec.structs.replace(
            kind, id=f"large/{number}", launch=launch, edges=[*kind.edges[:-1], first]
        )


def profile_of(chance: random.Random, kind: int, nodes: int, edges: int) -> LaunchProfile:
    labels: list[LabelName] = ["thread", "warp_diff_inst", "block", "grid"]
    weights: dict[tuple[int, int | None, LabelName], int] = {
        (node, None, "cold"): 4096 for node in range(nodes)
    }
    while len(weights) < edges:
        node = chance.randrange(nodes)
        # Twelve objects, each with the instructions of one stretch of code.
        size = -(-nodes // 12)
        first = node // size * size
        key = node, chance.randrange(first, min(nodes, first + size)), chance.choice(labels)
        weights[key] = 4 * 2 ** chance.randrange(20)
    bytes_of = [0] * nodes
    for (node, _, _), weight in weights.items():
        bytes_of[node] += weight
    name = f"void layer{kind}<float, {kind}>(float const*, float*)"
    kernel = msgspec.structs.replace(PROFILE.launch.kernel, name=name, mangled=f"_Z{kind}", module=None)
    function = msgspec.structs.replace(
        PROFILE.launch.functions[0], name=name, mangled=f"_Z{kind}", size=16 * nodes
    )
    return msgspec.structs.replace(
        PROFILE,
        launch=msgspec.structs.replace(PROFILE.launch, kernel=kernel, functions=[function], allocations=[]),
        coverage=Coverage(accesses={}, not_analysed=[], unknown_bytes=0, lost_records=0),
        nodes=[
            msgspec.structs.replace(
                PROFILE.nodes[0],
                id=node,
                pc=16 * node,
                executions=bytes_of[node] // 128,
                bytes=bytes_of[node],
                lanes=[(32, bytes_of[node] // 128)],
                addresses=[(32, bytes_of[node] // 128)],
                sectors=[(chance.choice([4, 4, 8, 32]), bytes_of[node] // 128)],
                allocations=[],
            )
            for node in range(nodes)
        ],
        edges=[
            Edge(node=node, origin=origin, label=label, bytes=weight, count=weight // 4)
            for (node, origin, label), weight in sorted(
                weights.items(), key=lambda item: (item[0][0], item[0][2], item[0][1] or 0)
            )
        ],
    )
