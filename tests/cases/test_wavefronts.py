"""Wavefronts as an H200 counted them, for 227 ways in which a warp can access shared memory.

Each line of ``golden/wavefronts.jsonl`` is what lanes access (offsets, ``null`` where a lane is off) and
what a load and a store there added to ``l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum`` and
``..._op_st.sum`` (driver 580.159.04, Nsight Compute 2025.3.1): strides, broadcasts, pairs, random places.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cuvein.vocabulary import RecordFlag, Space
from reference.streams import Warp, launch

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Analyse

    from reference.records import Record

MEASURED = Path(__file__).parents[1] / "golden" / "wavefronts.jsonl"


def test_wavefronts_are_those_of_the_hardware(analysed: Analyse) -> None:
    rows: list[dict[str, Any]] = [json.loads(line) for line in MEASURED.read_text().splitlines()]
    warp, records = Warp(), []
    for number, row in enumerate(rows):
        starts = {lane: offset for lane, offset in enumerate(row["offsets"]) if offset is not None}
        records.append(warp.read(32 * number, starts, size=row["size"], space=Space.SHARED))
        records.append(warp.write(32 * number + 16, starts, size=row["size"], space=Space.SHARED))
    (graph,) = analysed([launch()], records)
    counted = [
        (sum(graph.node(32 * number).wavefronts), sum(graph.node(32 * number + 16).wavefronts))
        for number in range(len(rows))
    ]
    assert counted == [(row["load"], row["store"]) for row in rows]


# Asynchronous copies. What lanes read lies in banks of L1, as what they write does in shared memory, and a
# lane takes its turn after all lower lanes in a bank of its own.

SOURCE = 0x7F00_0000_0000  # at a bank 0
LANES = tuple(range(32))


def copy(
    pc: int,
    size: int,
    source: Callable[[int], int],
    target: Callable[[int], int],
    *,
    lanes: tuple[int, ...] = LANES,
    reading: tuple[int, ...] = LANES,
) -> list[Record]:
    """Copy elements of ``size`` bytes, whose numbers are given; lanes that do not read fill with zeros."""
    warp = Warp()
    read = {lane: SOURCE + size * source(lane) for lane in lanes if lane in reading}
    written = {lane: size * target(lane) for lane in lanes}
    reads = [warp.read(pc, read, size, flags=RecordFlag.ASYNC)] if read else []
    return [*reads, warp.write(pc + 1, written, size, space=Space.SHARED, flags=RecordFlag.ASYNC)]


def same(lane: int) -> int:
    return lane


COPIES: dict[str, tuple[dict[str, Any], int]] = {
    "4 bytes, side by side": ({"size": 4, "source": same, "target": same}, 1),
    "8 bytes, side by side, in two groups": ({"size": 8, "source": same, "target": same}, 2),
    "16 bytes, in four": ({"size": 16, "source": same, "target": same}, 4),
    # A row of 8 is at the banks of the one above.
    "four rows at the same banks of L1": (
        {"size": 4, "source": lambda lane: lane // 8 * 256 + lane % 8, "target": same},
        4,
    ),
    "two rows, and two in the second group": (
        {"size": 8, "source": lambda lane: lane // 8 * 256 + lane % 8, "target": same},
        4,
    ),
    "past L1 there are no banks": (
        {"size": 16, "source": lambda lane: lane // 2 * 256 + lane % 2, "target": same},
        4,
    ),
    "zeros are not read": (
        {"size": 4, "source": lambda lane: lane // 8 * 256 + lane % 8, "target": same, "reading": ()},
        1,
    ),
    "of lanes that read two rows": (
        {
            "size": 4,
            "source": lambda lane: lane // 8 * 256 + lane % 8,
            "target": same,
            "reading": LANES[8:24],
        },
        2,
    ),
    "one row of a partial warp": (
        {"size": 4, "source": lambda lane: 256 * lane, "target": same, "lanes": (3, 30)},
        2,
    ),
    "a lane": ({"size": 8, "source": same, "target": same, "lanes": (31,)}, 1),
    "one word is read by one after the other": (
        {"size": 4, "source": lambda _: 5, "target": same},
        32,
    ),
    "one word is written by one after the other": (
        {"size": 4, "source": same, "target": lambda _: 5},
        32,
    ),
    "every other bank": ({"size": 4, "source": same, "target": lambda lane: 2 * lane}, 2),
    "every other pair of banks": ({"size": 8, "source": same, "target": lambda lane: 2 * lane}, 4),
    "out of line with the rows of banks": ({"size": 4, "source": lambda lane: lane + 5, "target": same}, 1),
    # A grid, columns at a bank of shared memory and rows at one of L1: along one side, then the other.
    "both sides": (
        {
            "size": 4,
            "source": lambda lane: 128 * (lane // 8) + lane % 8,
            "target": lambda lane: 64 * (lane % 8) + lane // 8,
        },
        11,
    ),
}


@pytest.mark.parametrize("name", COPIES)
def test_lanes_of_a_copy_through_l1_take_turns_in_banks_of_either_side(analysed: Analyse, name: str) -> None:
    (what, passes) = COPIES[name]
    (graph,) = analysed([launch()], copy(16, **what))
    assert graph.node(17).wavefronts == {passes: 1}


def test_parts_of_a_warp_that_copy_at_the_same_time_are_kept_apart(analysed: Analyse) -> None:
    """Each part reads and then writes, in whatever order the parts come by."""
    rows = {"size": 4, "source": lambda lane: 256 * (lane % 16), "target": same}
    one = copy(16, **rows, lanes=LANES[:4])
    other = copy(16, **rows, lanes=LANES[16:24])
    elsewhere = copy(64, **rows, lanes=LANES[4:6])
    records = [one[0], other[0], elsewhere[0], one[1], elsewhere[1], other[1]]
    (graph,) = analysed([launch()], records)
    assert graph.node(17).wavefronts == {4: 1, 8: 1}
    assert graph.node(65).wavefronts == {2: 1}


def test_what_a_copy_has_read_is_not_what_the_next_one_reads(analysed: Analyse) -> None:
    rows = {"size": 4, "source": lambda lane: 256 * lane, "target": same}
    records = [*copy(16, **rows), *copy(16, **rows, reading=())]
    (graph,) = analysed([launch()], records)
    assert graph.node(17).wavefronts == {32: 1, 1: 1}
