"""Wavefronts as an H200 counted them, for 227 ways in which a warp can access shared memory.

Each line of ``golden/wavefronts.jsonl`` is what lanes access (offsets, ``null`` where a lane is off) and
what a load and a store there added to ``l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum`` and
``..._op_st.sum`` (driver 580.159.04, Nsight Compute 2025.3.1): strides, broadcasts, pairs, random places.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuvein.vocabulary import Space
from reference.streams import Warp, launch

if TYPE_CHECKING:
    from conftest import Analyse

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
