"""What a trace holds, without analysing it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cuvein.native import ChunkKind, DamagedError, TraceReader
from cuvein.profile.model import Launch, Process
from cuvein.trace.reading import LaunchBegin, LaunchEnd, Module, Records, parse
from cuvein.vocabulary import RecordKind

if TYPE_CHECKING:
    import os

    from cuvein.trace.records import Batch

__all__ = ["LaunchSummary", "Summary", "info"]


@dataclass
class LaunchSummary:
    """One launch of a trace.

    Attributes
    ----------
    launch
        Its description.
    records
        Number of records by kind.
    ended
        Whether its end is in the trace.
    incomplete
        What is missing, as the writer said; ``None`` for nothing.
    """

    launch: Launch
    records: dict[RecordKind, int] = field(default_factory=dict)
    ended: bool = False
    incomplete: str | None = None


@dataclass
class Summary:
    """What a trace holds.

    Attributes
    ----------
    size
        Bytes of the file.
    process
        The process; ``None`` when the trace breaks off before it.
    launches
        By sequence number, in the order of the file.
    modules
        Bytes of each module by its SHA-256.
    chunks
        Number of whole chunks.
    records
        Number of records.
    record_bytes
        Bytes of the records in memory.
    stored_record_bytes
        Bytes they take in the file.
    problem
        One sentence about where the trace breaks off; ``None`` when it is whole.
    """

    size: int
    process: Process | None = None
    launches: dict[int, LaunchSummary] = field(default_factory=dict)
    modules: dict[str, int] = field(default_factory=dict)
    chunks: int = 0
    records: int = 0
    record_bytes: int = 0
    stored_record_bytes: int = 0
    problem: str | None = None


def info(path: str | os.PathLike[str]) -> Summary:
    """Look through a trace.

    A damaged trace is not an error here: the summary covers what is whole and `Summary.problem` says where it
    breaks off.

    Raises
    ------
    ForeignError, NewerError, SystemRefusedError
        When the file is no trace that can be read.
    """
    summary = Summary(size=0)
    try:
        with TraceReader(path) as reader:
            summary.size = Path(path).stat().st_size
            for chunk in reader:
                summary.chunks += 1
                if chunk.kind is ChunkKind.END:
                    break
                part = parse(chunk, path)
                if isinstance(part, Process):
                    summary.process = part
                elif isinstance(part, Module):
                    summary.modules[part.sha256] = len(part.cubin)
                elif isinstance(part, LaunchBegin):
                    summary.launches[part.launch.sequence] = LaunchSummary(part.launch)
                elif isinstance(part, LaunchEnd):
                    if part.sequence in summary.launches:
                        summary.launches[part.sequence].ended = True
                        summary.launches[part.sequence].incomplete = part.incomplete
                elif isinstance(part, Records):
                    summary.stored_record_bytes += chunk.stored_bytes
                    _count(summary, part.batch)
    except DamagedError as problem:
        summary.problem = str(problem)
    return summary


def _count(summary: Summary, batch: Batch) -> None:
    summary.records += len(batch)
    summary.record_bytes += len(batch.data)
    pairs = batch.headers["launch"].astype(np.uint64) << np.uint64(8) | batch.headers["kind"]
    for pair, count in zip(*np.unique(pairs, return_counts=True), strict=True):
        launch = summary.launches.get(int(pair) >> 8)
        if launch is not None:
            kind = RecordKind(int(pair) & 0xFF)
            launch.records[kind] = launch.records.get(kind, 0) + int(count)
