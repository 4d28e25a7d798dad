"""The report by data object, on numbers that can be worked out by hand."""

from __future__ import annotations

import json
import re

import pytest
from msgspec.structs import replace

from cuvein.profile.model import Allocation, AllocationTraffic, Edge, LaunchProfile
from cuvein.report.by_object import ObjectDocument, ObjectReport, by_object
from cuvein.report.listing import Listing
from reference.sample import PROFILE

WEIGHTS = Allocation(address=0x7F0000000000, size=1024, kind="device")
TABLE = Allocation(address=0x7F0000100000, size=4096, kind="module", name="_ZN3lib5tableE")
UNTOUCHED = Allocation(address=0x7F0000300000, size=8, kind="managed")


def launch(cold: int = 512, sequence: int = 1, address: int = WEIGHTS.address) -> LaunchProfile:
    """Make a launch that reads 2048 bytes of the weights, writes 256 of the table, and reads 64 in both."""
    load = PROFILE.nodes[0]

    def part(index: int, kind: str, parts: dict[int, int]) -> object:
        return replace(
            load,
            id=index,
            pc=16 * index,
            type=kind,
            bytes=sum(parts.values()),
            allocations=[AllocationTraffic(allocation, amount) for allocation, amount in parts.items()],
        )

    return replace(
        PROFILE,
        launch=replace(
            PROFILE.launch,
            sequence=sequence,
            allocations=[replace(WEIGHTS, address=address), TABLE, UNTOUCHED],
        ),
        nodes=[part(0, "read", {0: 2048}), part(1, "write", {1: 256}), part(2, "read", {0: 48, 1: 16})],
        edges=[
            Edge(node=0, origin=None, label="cold", bytes=cold, count=1),
            Edge(node=0, origin=0, label="block", bytes=2048 - cold, count=1),
            Edge(node=1, origin=None, label="cold", bytes=256, count=1),
            Edge(node=2, origin=0, label="grid", bytes=64, count=1),
        ],
    )


def test_launches_are_added_up_and_the_largest_footprint_kept() -> None:
    weights, table = by_object([launch(512), launch(768, 2)])
    assert (weights.object.address, weights.launches, weights.bytes) == (WEIGHTS.address, 2, 2 * (2048 + 48))
    assert weights.footprint == (768, 768)
    assert weights.alone["stage(float const*)", "read"].labels == {"cold": 1280, "block": 2816}
    assert weights.mixed == {("stage(float const*)", "read"): 96}
    assert (table.object.name, table.bytes) == ("lib::table", 544)


def test_what_moves_to_another_address_is_another_object() -> None:
    assert len(by_object([launch(), launch(sequence=2, address=0x7F0000900000)])) == 3


def test_untouched_allocations_are_left_out() -> None:
    assert all(group.object.kind != "managed" for group in by_object([launch()]))


def test_the_text_names_object_size_share_footprint_and_kernels() -> None:
    text = ObjectReport(Listing(120)).render([launch()])
    assert "device allocation at 0x7f0000000000  1.00 KiB  88.5 % of all bytes in global memory" in text
    assert "touched by 1 launch, footprint 512 B, 50.0 % of the object" in text
    assert re.search(r"read stage +4× +2\.00 KiB +1\.00× +block 75\.0 %, cold 25\.0 %", text)  # noqa: RUF001
    assert re.search(r"read stage \+ others +– +48 B", text)  # noqa: RUF001
    assert "lib::table" in text


@pytest.mark.parametrize("width", [60, 100])
def test_no_line_is_longer_than_asked_for(width: int) -> None:
    text = ObjectReport(Listing(width, unicode=False)).render([launch()])
    assert max(map(len, text.splitlines())) <= width
    assert text.isascii()


def test_a_launch_without_global_memory_says_so() -> None:
    empty = replace(PROFILE, nodes=PROFILE.nodes[1:], edges=[])
    assert "Note: no launch touched global memory." in ObjectReport(Listing()).render([empty])


def test_only_the_first_objects_are_listed_and_the_rest_counted() -> None:
    text = ObjectReport(Listing(top=1)).render([launch()])
    assert "(1 of 2; --top 0 lists all)" in text


def test_the_document_has_all_of_it() -> None:
    document = json.loads(ObjectDocument().render([launch()]))
    weights, table = document["objects"]
    assert (weights["kind"], weights["size"], weights["footprint"]) == (
        "device",
        1024,
        {"least": 512, "most": 512},
    )
    assert weights["accesses"][0]["labels"] == {"cold": 512, "block": 1536}
    assert weights["with_other_objects"] == [{"kernel": "stage(float const*)", "type": "read", "bytes": 48}]
    assert table["name"] == "lib::table"
