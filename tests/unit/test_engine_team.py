"""What several workers make of several batches at a time, and of failures on the way."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cuvein.native import Engine, InvalidError, NativeError
from cuvein.vocabulary import RecordKind, Space
from reference import engine
from reference.bulk import accesses
from reference.engine import profile_bytes
from reference.records import encode
from reference.streams import Warp, launch

if TYPE_CHECKING:
    from cuvein.profile import LaunchProfile

WORKERS = (1, 2, 7)
A = 0x7F00_0000_0000
# The engine says so where it refuses more.
MOST_INSTRUCTIONS = 524_286


@pytest.fixture(scope="module")
def long_stream() -> memoryview:
    """Records for a dozen batches: global and shared memory, scattered lanes, barriers, straddling lanes."""
    random, count = np.random.default_rng(3), 300_000
    made = accesses(
        count,
        pc=16 * random.integers(0, 40, count),
        size=4,
        type=random.integers(0, 3, count),
        space=random.choice([Space.GLOBAL, Space.SHARED], count),
        warp=random.integers(0, 4, count),
        block=random.integers(0, 50, count),
        active=0xFFFFFFFF,
        address=4 * random.integers(0, 3_000, count),
        stride=random.choice([0, 4, 128, 4096], count),
    )
    made["address"][random.random(count) < 0.01] += 2
    made["address"] += np.where(made["space"] == Space.GLOBAL, np.uint64(A), np.uint64(0))
    barriers = random.random(count) < 0.05
    made["kind"][barriers] = RecordKind.BLOCK_BARRIER
    for field in ("value", "address", "space", "type", "size"):
        made[field][barriers] = 0
    return memoryview(made.tobytes())


def profile(stream: memoryview, piece: int, workers: int) -> LaunchProfile:
    shape = launch(grid=(50, 1, 1), block=(128, 1, 1), allocations=[(A, 10_000)])
    return profile_bytes(shape, [stream[at : at + piece] for at in range(0, len(stream), piece)], workers)


def test_neither_pieces_nor_workers_change_a_long_stream(long_stream: memoryview) -> None:
    # Small pieces, pieces of a batch, pieces that are larger than one.
    pieces = [48 * records for records in (1_000, 20_000, 90_000)]
    one = profile(long_stream, pieces[1], workers=1)
    for piece, workers in itertools.product(pieces, (2, 7, 16)):
        assert profile(long_stream, piece, workers) == one


@pytest.mark.parametrize("place", [0, 10_001, 24_999])
def test_a_bad_record_among_many_is_told_and_changes_nothing(long_stream: memoryview, place: int) -> None:
    shape = launch(grid=(50, 1, 1), block=(128, 1, 1), allocations=[(A, 10_000)])
    process, document = engine.documents(shape)
    piece = long_stream[: 48 * 25_000]
    bad = bytearray(piece)
    bad[48 * place + 8 : 48 * place + 12] = bytes(4)  # no lanes
    bad[48 * place + 12 : 48 * place + 16] = bytes([0x40, 0xE2, 1, 0])
    bad[48 * 24_999] = 0  # no length: the first one is told
    with Engine(process, workers=7) as host:
        host.begin(document)
        host.consume(piece)
        for _ in range(5):  # whether workers help or not
            with pytest.raises(InvalidError, match="pc 0x1e240" if place != 24_999 else "malformed"):
                host.consume(bad)
        found = engine.decode(host.end(1))
    assert found == profile_bytes(shape, [piece], workers=1)


@pytest.mark.parametrize("workers", WORKERS)
def test_after_too_many_instructions_no_graph_is_given_out(workers: int) -> None:
    count = MOST_INSTRUCTIONS + 1
    made = accesses(count, pc=16 * np.arange(count), size=4, active=1, address=A)
    process, shape = engine.documents(launch(1))
    _, other = engine.documents(launch(2))
    sentence = "more than 524286 memory instructions"
    with Engine(process, workers=workers) as host:
        host.begin(shape)
        host.begin(other)
        with pytest.raises(NativeError, match=sentence):  # noqa: PT012
            host.consume(made.tobytes())
            host.end(1)
        # What was lost may have been of this launch.
        with pytest.raises(NativeError, match=sentence):
            host.consume(encode([Warp(launch=2).write(16, {0: A})]))
        with pytest.raises(NativeError, match=sentence):
            host.end(2)


@pytest.mark.parametrize("workers", WORKERS)
def test_an_engine_says_what_it_spends_its_time_on(long_stream: memoryview, workers: int) -> None:
    process, shape = engine.documents(launch(grid=(50, 1, 1), block=(128, 1, 1)))
    with Engine(process, workers=workers) as host:
        host.begin(shape)
        for at in range(0, len(long_stream), 48 << 14):
            host.consume(long_stream[at : at + (48 << 14)])
        host.end(1)
        times = host.times()
    assert len(times["workers"]) == workers
    assert all(seconds >= 0 for each in [times["caller"], *times["workers"]] for seconds in each.values())
    assert times["caller"]["checking"] > 0
    # One worker takes all steps in one.
    steps = ["decode"] if workers == 1 else ["decode", "by_block", "by_address"]
    assert all(sum(each[step] for each in times["workers"]) > 0 for step in steps)
