"""Scattered accesses, whose lanes the engine looks for before it applies them, against the reference model.

The streams are long enough for chunks of the shadow memory to be described word by word throughout, which is
the quick way, and have accesses that put an end to that at every moment: side by side, finer than a word,
across tiles, to memory that is allocated anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cuvein.vocabulary import AccessType, AddressForm
from reference import engine
from reference.graph import differences, graph_of
from reference.model import analyse
from reference.streams import Warp, launch

if TYPE_CHECKING:
    from reference.records import Record

WORKERS = (1, 2, 7)
A = 0x7F00_0000_0000
# Much at first, so that the chunks of each worker fill up, then little, so that accesses meet.
MUCH, LITTLE = 1 << 20, 1 << 16


def scattered(
    warp: Warp, random: np.random.Generator, lanes: int, memory: int, aligned: bool = True
) -> Record:
    """Make an access whose lanes lie anywhere."""
    size = int(random.choice([4, 4, 8, 16]))
    places = random.choice(memory // 16, 32, replace=False) * 16
    places += random.integers(0, 16 // size, 32) * size if aligned else random.integers(0, 17 - size, 32)
    chosen = random.choice(32, lanes, replace=False)
    kind = AccessType(int(random.choice([0, 0, 0, 1, 2])))
    return warp.access(
        kind, 16 * size + 256 * kind, {int(lane): int(A + places[lane]) for lane in chosen}, size
    )


def disturbance(warp: Warp, random: np.random.Generator) -> Record:
    """Make an access of another kind somewhere in the same memory."""
    at = A + int(random.integers(0, LITTLE // 64)) * 64
    match int(random.integers(0, 7)):
        case 0:
            return warp.write(2000, lambda lane: at + 4 * lane)
        case 1:
            return warp.read(2016, lambda lane: at + lane, 1)
        case 2:
            return warp.read(2032, lambda lane: at + 16 * lane, 16)
        case 3:
            return warp.write(2048, lambda lane: at + 2 * lane, 2)
        case 4:
            return warp.malloc(at - at % 8 + int(random.integers(0, 8)), int(random.integers(1, 200)))
        case 5:
            return warp.read(2064, lambda _: at)
        case _:
            return scattered(warp, random, 32, LITTLE, aligned=False)


@pytest.mark.parametrize("cluster", [None, (2, 1, 1)])
@pytest.mark.parametrize("often", [0.0, 0.02, 0.3])
def test_scattered_lanes_meet_what_the_model_says(often: float, cluster: tuple[int, int, int] | None) -> None:
    random = np.random.default_rng(int(often * 100) + (cluster is not None))
    launches = [
        launch(sequence, (64, 1, 1), (128, 1, 1), cluster, [(A, LITTLE // 2), (A + LITTLE // 2, MUCH)])
        for sequence in (1, 2)
    ]
    records = []
    for number in range(700):
        # The second launch comes in between once; blocks come back, so that warps meet.
        warp = Warp(int(random.integers(0, 6)), int(random.integers(0, 4)), 2 if 640 <= number < 650 else 1)
        if number >= 400 and random.random() < often:
            records.append(disturbance(warp, random))
        else:
            lanes = 32 if number < 400 else int(random.choice([32, 32, 32, 1, 5, 31]))
            records.append(scattered(warp, random, lanes, MUCH if number < 400 else LITTLE))
    right = analyse(launches, records)
    for workers in WORKERS:
        form = AddressForm.LANES_64 if workers == 2 else AddressForm.LANES_32
        for sequence, profile in engine.profiles(launches, records, workers, form, team=True).items():
            told = differences(graph_of(profile), right[sequence].graph)
            assert not told, "\n".join(told)
    labels = {edge.label for edge in engine.profiles(launches, records, 1)[1].edges}
    assert labels >= {"cold", "warp_diff_inst", "block", "cluster" if cluster else "grid"}
