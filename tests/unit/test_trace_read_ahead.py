"""Traces whose chunks are read ahead and decoded by several threads give what one thread gives."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import msgspec
import pytest

from cuvein.native import NativeError, TraceWriter, replay
from cuvein.trace import Recorder, make_launch, make_process

if TYPE_CHECKING:
    from pathlib import Path

BASE = 0x7F1234560000


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Write three launches, one after the other, each with ten chunks of records."""
    path = tmp_path / "trace"
    chance = random.Random(5)
    with TraceWriter(path, msgspec.json.encode(make_process())) as writer:
        for launch in (1, 2, 3):
            writer.begin(msgspec.json.encode(msgspec.structs.replace(make_launch(), sequence=launch)))
            for _ in range(10):
                part = Recorder(launch)
                for _ in range(chance.randrange(1, 40)):
                    part.access(16, [BASE + 4 * chance.randrange(1 << 10) for _ in range(32)], 4)
                writer.records(part.data)
                writer.flush()
            writer.end(launch)
    return path


def outcome(path: Path, workers: int) -> tuple[list[bytes], str]:
    profiles: list[bytes] = []
    try:
        replay(path, profiles.append, workers=workers)
    except NativeError as problem:
        return profiles, f"{type(problem).__name__}: {problem}"
    return profiles, ""


def test_whole_trace(trace: Path) -> None:
    alone = outcome(trace, 1)
    assert len(alone[0]) == 3
    assert alone[1] == ""
    assert outcome(trace, 2) == outcome(trace, 7) == alone


@pytest.mark.parametrize("seed", range(40))
def test_damaged_trace(trace: Path, seed: int) -> None:
    chance = random.Random(seed)
    content = bytearray(trace.read_bytes())
    # Two places, so that often one is found while the other is ahead.
    for _ in range(2):
        content[chance.randrange(16, len(content))] ^= 1 << chance.randrange(8)
    if seed % 2:
        del content[chance.randrange(len(content) // 2, len(content)) :]
    trace.write_bytes(content)
    alone = outcome(trace, 1)
    assert alone[1]
    assert outcome(trace, 7) == alone


def test_callback_that_stops_the_replay(trace: Path) -> None:
    def stop(_: bytes) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay(trace, stop, workers=7)
