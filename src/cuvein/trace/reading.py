"""Reading a trace as typed parts."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from cuvein.native import Chunk, ChunkKind, DamagedError, TraceReader
from cuvein.profile.model import Launch, Process
from cuvein.trace.records import Batch

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LaunchBegin", "LaunchEnd", "Module", "Part", "Records", "parse", "read"]


@dataclass(frozen=True)
class Module:
    """A module (cubin) and the SHA-256 of its bytes in hex, as ``Launch.kernel.module`` names it."""

    sha256: str
    cubin: bytes


@dataclass(frozen=True)
class LaunchBegin:
    """A launch opens."""

    launch: Launch


@dataclass(frozen=True)
class Records:
    """Records of open launches, in stream order."""

    batch: Batch


class LaunchEnd(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A launch closes; ``incomplete`` is ``None``, or what is missing."""

    sequence: int
    incomplete: str | None


Part = Process | Module | LaunchBegin | Records | LaunchEnd


def read(path: str | os.PathLike[str]) -> Iterator[Part]:
    """Read a trace part by part, in the order of the file.

    Yields
    ------
    Process, Module, LaunchBegin, Records or LaunchEnd
        The process comes first.

    Raises
    ------
    DamagedError
        Where the trace breaks off, after everything before it.
    ForeignError, NewerError, SystemRefusedError
        When the file is no trace that can be read.
    """
    with TraceReader(path) as reader:
        for chunk in reader:
            if chunk.kind is not ChunkKind.END:
                yield parse(chunk, path)


def parse(chunk: Chunk, path: str | os.PathLike[str]) -> Part:
    """Give a chunk its type; raises `DamagedError` when its document is not of the format."""
    try:
        if chunk.kind is ChunkKind.PROCESS:
            return msgspec.json.decode(chunk.data, type=Process)
        if chunk.kind is ChunkKind.LAUNCH_BEGIN:
            return LaunchBegin(msgspec.json.decode(chunk.data, type=Launch))
        if chunk.kind is ChunkKind.LAUNCH_END:
            return msgspec.json.decode(chunk.data, type=LaunchEnd)
    except msgspec.DecodeError as problem:
        raise DamagedError(
            f"{os.fspath(path)} is damaged at byte {chunk.offset}: the document there is not of the format"
            f" ({problem}); everything before it was read"
        ) from problem
    if chunk.kind is ChunkKind.MODULE:
        return Module(hashlib.sha256(chunk.data).hexdigest(), chunk.data)
    return Records(Batch(chunk.data))
