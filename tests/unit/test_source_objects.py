"""Which allocations a launch touched, and how much of each."""

from __future__ import annotations

from msgspec.structs import replace

from cuvein.profile.model import Allocation, AllocationTraffic, Edge, LaunchProfile
from cuvein.source import objects_of, traffic_of
from reference.sample import PROFILE

WEIGHTS = Allocation(address=0x7F0000000000, size=1024, kind="device")
TABLE = Allocation(address=0x7F0000100000, size=4096, kind="module", name="_ZN3lib5tableE")
POOL = Allocation(address=0x7F0000200000, size=65536, kind="pool")
UNTOUCHED = Allocation(address=0x7F0000300000, size=8, kind="managed")


def launch_with(*nodes: tuple[dict[int | None, int], int]) -> LaunchProfile:
    """Make a launch of global nodes, each given as bytes by allocation and cold bytes."""
    template = PROFILE.nodes[0]
    return replace(
        PROFILE,
        launch=replace(PROFILE.launch, allocations=[WEIGHTS, TABLE, POOL, UNTOUCHED]),
        nodes=[
            replace(
                template,
                id=index,
                pc=16 * index,
                bytes=sum(parts.values()),
                allocations=[AllocationTraffic(allocation, amount) for allocation, amount in parts.items()],
            )
            for index, (parts, _) in enumerate(nodes)
        ],
        edges=[
            edge
            for index, (parts, cold) in enumerate(nodes)
            for edge in (
                Edge(node=index, origin=None, label="cold", bytes=cold, count=1),
                Edge(node=index, origin=index, label="grid", bytes=sum(parts.values()) - cold, count=1),
            )
            if edge.bytes
        ],
    )


def test_traffic_and_footprint_of_each_object_most_traffic_first() -> None:
    profile = launch_with(({0: 2048}, 512), ({0: 512}, 256), ({1: 128}, 128))
    weights, table = traffic_of(profile)
    assert (weights.object.index, weights.bytes, weights.footprint, weights.nodes) == (
        0,
        2560,
        (768, 768),
        {0: 2048, 1: 512},
    )
    assert weights.share == 0.75
    assert (table.object.name, table.bytes, table.share) == ("lib::table", 128, 0.03125)


def test_only_the_nodes_asked_for_count() -> None:
    profile = launch_with(({0: 2048}, 512), ({0: 512}, 256), ({1: 128}, 128))
    (weights,) = traffic_of(profile, {1})
    assert (weights.bytes, weights.footprint, weights.nodes) == (512, (256, 256), {1: 512})
    assert traffic_of(profile, ()) == []


def test_a_node_in_two_objects_leaves_a_range_and_no_share() -> None:
    profile = launch_with(({0: 600, 2: 400}, 700))
    weights, pool = traffic_of(profile)
    assert weights.footprint == (300, 600)
    assert pool.footprint == (100, 400)
    assert weights.share is None


def test_a_footprint_is_never_larger_than_its_object() -> None:
    (weights, _) = traffic_of(launch_with(({0: 5000, 2: 3000}, 4000)))
    assert weights.footprint == (1000, 1024)


def test_bytes_in_no_known_allocation_are_an_object_of_their_own() -> None:
    profile = launch_with(({None: 64}, 64), ({0: 32}, 32))
    unknown, _ = traffic_of(profile)
    assert (unknown.object.index, unknown.object.name, unknown.share) == (
        None,
        "memory outside known allocations",
        None,
    )


def test_bytes_the_profile_does_not_attribute_are_not_lost() -> None:
    profile = launch_with(({0: 32}, 32))
    node = replace(profile.nodes[0], bytes=48)
    objects = traffic_of(replace(profile, nodes=[node]))
    assert {traffic.object.index: traffic.bytes for traffic in objects} == {0: 32, None: 16}


def test_shared_memory_is_no_object() -> None:
    assert [traffic.nodes for traffic in traffic_of(PROFILE)] == [{0: 512}]


def test_objects_are_named_by_what_is_known() -> None:
    names = [data_object.name for data_object in objects_of(launch_with())]
    assert names == [
        "device allocation at 0x7f0000000000",
        "lib::table",
        "pool allocation at 0x7f0000200000",
        "managed allocation at 0x7f0000300000",
    ]
