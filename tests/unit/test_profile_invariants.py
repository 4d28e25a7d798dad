"""Each invariant catches the profile that violates it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cuvein.profile import LaunchProfile, violations
from cuvein.profile.invariants import dangling
from reference.sample import PROFILE


def changed(*path: str | int, to: Any) -> LaunchProfile:
    """Return the sample with the value at ``path`` replaced."""
    document = msgspec.to_builtins(PROFILE)
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return msgspec.convert(document, LaunchProfile)


def test_a_good_profile_violates_nothing() -> None:
    assert violations(PROFILE) == []
    assert violations(PROFILE, {"global": 512, "shared": 512, "local": 0}) == []


@pytest.mark.parametrize(
    ("path", "to", "sentence"),
    [
        (("nodes", 1, "id"), 7, "the node at place 1 has id 7"),
        (("nodes", 1, "function"), 1, "node 1 is in function 1, but there are 1"),
        (("launch", "functions"), [], "no functions"),
        (("nodes", 0, "allocations", 0, "allocation"), 1, "names allocation 1, but there are 1"),
        (("edges", 0, "node"), 3, "an edge starts at node 3, but there are 3 nodes"),
        (("edges", 3, "origin"), 3, "ends at node 3, but there are 3 nodes"),
        (("edges", 0, "origin"), 0, "a cold edge of node 0 has an origin"),
        (("edges", 3, "origin"), None, "a block edge of node 2 has no origin"),
        (
            ("hidden_hazards",),
            [{"node": 2, "origin": 3, "bytes": 4}],
            "a hidden hazard lies between node 2 and node 3, but there are 3 nodes",
        ),
    ],
)
def test_dangling_references(path: tuple[str | int, ...], to: Any, sentence: str) -> None:
    profile = changed(*path, to=to)
    assert any(sentence in fault for fault in dangling(profile))
    assert violations(profile) == dangling(profile)


@pytest.mark.parametrize(
    ("path", "to", "sentence"),
    [
        (("edges", 2, "bytes"), 495, "node 2 (shared read at 112) accessed 512 bytes, its edges hold 511"),
        (("nodes", 0, "executions"), 5, "the distribution of lanes sums to 4, not to the 5 executions"),
        (("nodes", 0, "sectors"), [(4, 3)], "the distribution of sectors sums to 3"),
        (("nodes", 1, "wavefronts"), [], "the distribution of wavefronts sums to 0"),
        (
            ("nodes", 0, "wavefronts"),
            [(1, 4)],
            "a distribution of wavefronts, which global accesses do not have",
        ),
        (("nodes", 1, "sectors"), [(4, 4)], "a distribution of sectors, which shared accesses do not have"),
        (("nodes", 0, "lanes"), [(32, 3), (32, 1)], "is not in ascending order"),
        (("nodes", 0, "lanes"), [(33, 4)], "holds values outside 1 to 32"),
        (("nodes", 0, "addresses"), [(0, 4)], "holds values outside 1 to 32"),
        (("nodes", 0, "size"), 2, "accessed 512 bytes in 128 lane accesses of 2 bytes"),
        (("edges", 0, "count"), 100, "holds 512 bytes in 100 lane accesses"),
        (("edges", 0, "count"), 0, "holds 512 bytes in 0 lane accesses"),
        (("nodes", 0, "allocations", 0, "bytes"), 500, "accessed 512 bytes, its allocations hold 500"),
        (
            ("nodes", 0, "allocations", 0, "allocation"),
            None,
            "counts 0 bytes outside allocations, the nodes 512",
        ),
        (("nodes", 1, "allocations"), [{"allocation": 0, "bytes": 1}], "which shared memory does not have"),
        (("edges", 3, "label"), "grid", "has a label that shared memory does not allow"),
        (("edges", 3, "label"), "warp_same_inst", "must lead back to its own node"),
        (("edges", 2, "origin"), 0, "leads from shared to global memory"),
        (("edges", 3, "unordered"), 17, "has 16 bytes, 17 of them unordered"),
        (("edges", 0, "unordered"), 0, "states unordered bytes, which have no meaning there"),
        (("nodes", 1, "type"), "read", "states unordered bytes between two reads"),
        (("edges", 3, "label"), "warp_diff_inst", "two edges have the same node, origin and label"),
        (("coverage", "accesses", "global"), 5, "coverage counts 5 global accesses, the nodes 4"),
        (("coverage", "accesses", "local"), 1, "coverage counts 1 local accesses, the nodes 0"),
        (("coverage", "unknown_bytes"), 8, "counts 8 bytes outside allocations, the nodes 0"),
        (("coverage", "lost_records"), 1, "yet the profile is not marked incomplete"),
    ],
)
def test_arithmetic(path: tuple[str | int, ...], to: Any, sentence: str) -> None:
    faults = violations(changed(*path, to=to))
    assert any(sentence in fault for fault in faults), faults


@pytest.mark.parametrize(
    ("hazards", "sentence"),
    [
        ([(2, 1, 4)], None),
        ([(2, 0, 4)], "is not in shared memory"),
        ([(2, 2, 4)], "lies between two reads"),
        ([(2, 1, 513)], "holds 513 bytes, the node accessed 512"),
        ([(2, 1, 4), (1, 2, 4)], "not in the order of their nodes"),
        ([(2, 1, 4), (2, 1, 4)], "not in the order of their nodes"),
    ],
)
def test_hidden_hazards(hazards: list[tuple[int, int, int]], sentence: str | None) -> None:
    listed = [dict(zip(("node", "origin", "bytes"), hazard, strict=True)) for hazard in hazards]
    found = violations(changed("hidden_hazards", to=listed))
    assert found == [] if sentence is None else [fault for fault in found if sentence in fault]


def test_cluster_labels_need_clusters() -> None:
    edges = list(PROFILE.edges)
    edges[0] = msgspec.structs.replace(edges[0], label="cluster", origin=0)
    profile = msgspec.structs.replace(PROFILE, edges=edges)
    assert violations(profile) == [
        "the cluster edge from node 0 to 0 has a label that needs clusters, which the launch does not have"
    ]
    launch = msgspec.structs.replace(profile.launch, cluster=(1, 1, 1))
    assert violations(msgspec.structs.replace(profile, launch=launch)) == []


def test_cold_bytes_are_the_distinct_bytes() -> None:
    faults = violations(PROFILE, {"shared": 500})
    assert faults == ["500 distinct bytes of shared memory were touched, 512 bytes are cold"]
