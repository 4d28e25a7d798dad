"""The host engine, fed with a test's records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from cuvein.native import Engine, TraceWriter, replay
from cuvein.profile import LaunchProfile, decode
from cuvein.vocabulary import RecordKind
from reference.records import Record, encode
from reference.sample import PROCESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from cuvein.profile.model import Launch
    from cuvein.vocabulary import AddressForm

__all__ = ["decode", "documents", "profile_bytes", "profiles", "replayed"]


def documents(launch: Launch) -> tuple[bytes, bytes]:
    """Return the documents that an engine wants: the process and the launch."""
    return msgspec.json.encode(PROCESS), msgspec.json.encode(launch)


PADDING = bytes([1, RecordKind.PADDING]) + bytes(14)  # the shortest


def profiles(
    launches: Sequence[Launch],
    records: Iterable[Record],
    workers: int,
    form: AddressForm | None = None,
    chunk: int | None = None,
    *,
    team: bool = False,
) -> dict[int, LaunchProfile]:
    """Analyse launches whose records are interleaved; ``chunk`` records are handed over at a time.

    Of a few records the engine does all workers' parts in one thread; ``team`` puts padding before them, so
    that they are enough for the workers' own threads.
    """
    records = list(records)
    chunk = chunk or len(records) or 1
    with Engine(msgspec.json.encode(PROCESS), workers=workers) as engine:
        for launch in launches:
            engine.begin(msgspec.json.encode(launch))
        if team:
            engine.consume(PADDING * 1024)
        for first in range(0, len(records), chunk):
            engine.consume(encode(records[first : first + chunk], form))
        return {launch.sequence: decode(engine.end(launch.sequence)) for launch in launches}


def replayed(
    launches: Sequence[Launch],
    records: Iterable[Record],
    workers: int,
    form: AddressForm | None,
    path: Path,
) -> dict[int, LaunchProfile]:
    """Write the launches into a trace file and analyse that."""
    with TraceWriter(path, msgspec.json.encode(PROCESS)) as writer:
        for launch in launches:
            writer.begin(msgspec.json.encode(launch))
        writer.records(encode(records, form))
        for launch in launches:
            writer.end(launch.sequence)
    found: list[LaunchProfile] = []
    replay(path, lambda document: found.append(decode(document)), workers=workers)
    return {profile.launch.sequence: profile for profile in found}


def profile_bytes(launch: Launch, chunks: Iterable[bytes | memoryview], workers: int = 2) -> LaunchProfile:
    """Analyse one launch whose records are bytes already."""
    with Engine(msgspec.json.encode(PROCESS), workers=workers) as engine:
        engine.begin(msgspec.json.encode(launch))
        for chunk in chunks:
            engine.consume(chunk)
        return decode(engine.end(launch.sequence))
