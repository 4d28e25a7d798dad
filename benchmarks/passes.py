"""How many passes through shared memory an asynchronous copy or an atomic takes on compute capability 9.0.

Fitted to ``results/passes.json``: counters of an H200 for single instructions of one warp. The engines count
copies of 4 and 8 bytes by the same rule (``docs/engine.md``), but copies of 16 bytes, which mostly go past
L1, and atomics by the words in a bank of shared memory: this tells why the hardware counts more of those
(``docs/validation.md``). Both are tested on the probes.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NOT_EXPLAINED", "OPERATIONS", "Lane", "of_atomic", "of_copy", "probes"]

RESULTS = Path(__file__).parent / "results" / "passes.json"

BANK_BYTES, ROW_BYTES = 4, 128
# Passes for each lane that has its turn in a bank; where lanes at one word share a turn: None. Additions of 1
# whose result nobody reads are such. A float is added, and 8 bytes are, by compare-and-swap, in a loop.
OPERATIONS: dict[str, int | None] = {"one": None, "add": 1, "exchange": 1, "max": 1, "swap": 2}

# Copies, by name and size, that took up to three passes more: lanes lie here and there on both sides.
NOT_EXPLAINED = {
    ("rows8_p1024_s", 4),
    ("random512_0", 4),
    ("random32768_0", 4),
    ("rows8_p1024_s", 8),
    ("random512_0", 8),
    ("random4096_0", 8),
    ("random4096_1", 8),
    ("random32768_0", 16),
}


class Lane(NamedTuple):
    """Where a lane writes in shared memory, where it reads in global memory, and how many bytes of that."""

    shared: int
    source: int
    read: int


def of_copy(lanes: Sequence[Lane | None], size: int) -> int:
    """Count the passes of a copy through L1 (``cp.async.ca``) of ``size`` bytes a lane.

    The words in L1 lie in banks as those in shared memory do. A lane takes its turn after all lower lanes
    that read or write in the same bank, also at the same word; a lane that fills with zeros reads nothing.
    Lanes are served in groups of 128 bytes.
    """
    group = min(32, ROW_BYTES // size)
    banks = ROW_BYTES // size
    passes = 0
    for first in range(0, 32, group):
        written: dict[int, int] = {}
        loaded: dict[int, int] = {}
        for lane in lanes[first : first + group]:
            if lane is None:
                continue
            to, come = lane.shared // size % banks, lane.source // size % banks
            turn = 1 + max(written.get(to, 0), loaded.get(come, 0) if lane.read else 0)
            written[to] = turn
            if lane.read:
                loaded[come] = turn
        passes += max(written.values(), default=0)
    return passes


def of_atomic(operation: str, places: Sequence[int | None]) -> int:
    """Count the passes of an atomic on 4 bytes of shared memory at ``places``, of lanes that are not off."""
    each = OPERATIONS[operation]
    words = [place // BANK_BYTES for place in places if place is not None]
    banks = Counter(word % 32 for word in (set(words) if each is None else words))
    return max(banks.values(), default=0) * (each or 1)


def probes(kind: str) -> list[dict[str, Any]]:
    """Return what was counted: ``copies``, ``atomics``, ``staging`` or ``operators``."""
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text())[kind]
    return rows
