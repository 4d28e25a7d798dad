"""What of a launch document reaches the profile: nested allocations, call sites, files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cuvein.native import Engine
from cuvein.profile import decode, violations
from cuvein.profile.model import (
    Allocation,
    CallSite,
    HostFrame,
    HostModule,
    Launch,
    PythonFrame,
)
from cuvein.trace import Recorder
from reference.sample import LAUNCH, PROCESS

if TYPE_CHECKING:
    from cuvein.profile.model import LaunchProfile

BASE = 0x1000


def profile_of(launch: Launch, *reads: tuple[int, int]) -> LaunchProfile:
    """Analyse a launch in which a lane reads so many bytes at each address."""
    records = Recorder(launch.sequence)
    for number, (address, size) in enumerate(reads):
        records.access(16 * number, [address], size)
    records.launch_end()
    with Engine(msgspec.json.encode(PROCESS), workers=1) as engine:
        engine.begin(msgspec.json.encode(launch))
        engine.consume(records.data)
        return decode(engine.end(launch.sequence), "engine")


def bytes_by(profile: LaunchProfile) -> list[dict[int | None, int]]:
    return [{part.allocation: part.bytes for part in node.allocations} for node in profile.nodes]


def test_a_byte_counts_for_the_tensor_it_lies_in() -> None:
    launch = replace(
        LAUNCH,
        allocations=[
            Allocation(BASE, 64, "device"),
            Allocation(BASE + 8, 8, "tensor", parent=0),
            Allocation(BASE + 16, 8, "tensor", parent=0),
        ],
    )
    profile = profile_of(launch, (BASE, 8), (BASE + 8, 8), (BASE + 16, 16), (BASE + 24, 8), (BASE + 64, 8))
    assert bytes_by(profile) == [{0: 8}, {1: 8}, {0: 8, 2: 8}, {0: 8}, {None: 8}]
    assert violations(profile) == []


def test_a_tensor_that_fills_its_allocation_has_all_of_it() -> None:
    allocations = [Allocation(BASE, 64, "device"), Allocation(BASE, 64, "tensor", parent=0)]
    profile = profile_of(replace(LAUNCH, allocations=allocations), (BASE, 16))
    assert bytes_by(profile) == [{1: 16}]


def partly(one: tuple[int, int], other: tuple[int, int]) -> bool:
    (first, last), (start, end) = sorted([one, other], key=lambda each: (each[0], -each[1]))
    return first < start < last < end


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=8))
def test_every_byte_counts_once_for_the_innermost(given_ranges: list[tuple[int, int]]) -> None:
    ranges: list[tuple[int, int]] = []
    for start, size in given_ranges:
        if not any(partly((start, start + size), other) for other in ranges):
            ranges.append((start, start + size))
    allocations = [Allocation(BASE + start, end - start, "device") for start, end in ranges]
    profile = profile_of(replace(LAUNCH, allocations=allocations), *((BASE + at, 1) for at in range(80)))
    for at, parts in enumerate(bytes_by(profile)):
        ((index, _),) = parts.items()
        inside = [each for each in ranges if each[0] <= at < each[1]]
        if index is None:
            assert not inside
        else:
            found = profile.launch.allocations[index]
            start, end = min(inside, key=lambda each: each[1] - each[0])
            assert (found.address, found.size) == (BASE + start, end - start)


def test_where_two_only_overlap_the_lower_one_has_the_bytes() -> None:
    allocations = [Allocation(BASE + 4, 8, "device"), Allocation(BASE, 8, "device")]
    profile = profile_of(replace(LAUNCH, allocations=allocations), (BASE, 16))
    assert bytes_by(profile) == [{None: 4, 0: 4, 1: 8}]


def test_only_what_is_referred_to_is_kept() -> None:
    def site(name: str, *modules: int) -> CallSite:
        return CallSite([PythonFrame(name, 1, "f")], [HostFrame(module, 8) for module in modules], [], [])

    launch = replace(
        LAUNCH,
        allocations=[
            Allocation(0x8000, 64, "device", site=1),
            Allocation(BASE, 64, "device", site=2),
            Allocation(BASE + 8, 8, "tensor", parent=1, shape=[2], dtype="float32", site=3),
            Allocation(BASE + 16, 8, "tensor", parent=1, site=0),
        ],
        site=4,
        sites=[
            site("untouched tensor", 0),
            site("untouched", 1),
            site("segment", 2),
            site("tensor"),
            site("launch", 4, 2),
        ],
        host_modules=[HostModule(f"/lib/{number}.so", f"{number}{number}") for number in range(5)],
    )
    profile = profile_of(launch, (BASE + 8, 8))
    found = profile.launch
    assert [(entry.address, entry.parent) for entry in found.allocations] == [(BASE, None), (BASE + 8, 0)]
    segment, tensor = found.allocations
    assert (tensor.shape, tensor.dtype) == ([2], "float32")

    def name(index: int | None) -> str | None:
        return None if index is None else found.sites[index].python[0].file

    assert [name(index) for index in (segment.site, tensor.site, found.site)] == [
        "segment",
        "tensor",
        "launch",
    ]
    assert len(found.sites) == 3
    assert [module.path for module in found.host_modules] == ["/lib/2.so", "/lib/4.so"]
    assert found.site is not None
    calls = found.sites[found.site].native
    assert [found.host_modules[call.module].build_id for call in calls if call.module is not None] == [
        "44",
        "22",
    ]
    assert violations(profile) == []


def test_sites_that_sites_name_are_kept_too() -> None:
    def site(name: str, forward: int | None = None, caller: int | None = None) -> CallSite:
        return CallSite([PythonFrame(name, 1, "f")], [], [], [], forward=forward, caller=caller)

    launch = replace(
        LAUNCH,
        site=4,
        sites=[
            site("start"),
            site("unused", 3),
            site("forward", None, 0),
            site("unused"),
            site("launch", 2, 0),
        ],
    )
    found = profile_of(launch, (LAUNCH.allocations[0].address, 4)).launch
    assert found.site is not None
    own = found.sites[found.site]
    assert own.forward is not None
    assert own.caller is not None
    assert found.sites[own.forward].python[0].file == "forward"
    assert found.sites[own.forward].caller == own.caller
    assert found.sites[own.caller].python[0].file == "start"
    assert len(found.sites) == 3


def test_a_launch_without_call_sites_has_none() -> None:
    profile = profile_of(LAUNCH, (LAUNCH.allocations[0].address, 4))
    assert (profile.launch.site, profile.launch.sites, profile.launch.host_modules) == (None, [], [])
