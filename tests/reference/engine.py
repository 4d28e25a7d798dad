"""The host engine, fed with a test's records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from cuvein.native import Engine
from cuvein.profile import LaunchProfile, decode
from reference.records import Record, encode
from reference.sample import PROCESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cuvein.profile.model import Launch
    from cuvein.vocabulary import AddressForm

__all__ = ["profile_bytes", "profiles"]


def profiles(
    launches: Sequence[Launch],
    records: Iterable[Record],
    workers: int,
    form: AddressForm | None = None,
    chunk: int | None = None,
) -> dict[int, LaunchProfile]:
    """Analyse launches whose records are interleaved; ``chunk`` records are handed over at a time."""
    records = list(records)
    chunk = chunk or len(records) or 1
    with Engine(msgspec.json.encode(PROCESS), workers=workers) as engine:
        for launch in launches:
            engine.begin(msgspec.json.encode(launch))
        for first in range(0, len(records), chunk):
            engine.consume(encode(records[first : first + chunk], form))
        return {launch.sequence: decode(engine.end(launch.sequence)) for launch in launches}


def profile_bytes(launch: Launch, chunks: Iterable[bytes | memoryview], workers: int = 2) -> LaunchProfile:
    """Analyse one launch whose records are bytes already."""
    with Engine(msgspec.json.encode(PROCESS), workers=workers) as engine:
        engine.begin(msgspec.json.encode(launch))
        for chunk in chunks:
            engine.consume(chunk)
        return decode(engine.end(launch.sequence))
