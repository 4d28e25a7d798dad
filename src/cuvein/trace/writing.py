"""Writing a whole trace in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from cuvein.native import TraceWriter
from cuvein.trace.builder import Recorder, make_process

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from cuvein.profile.model import Launch, Process

__all__ = ["write"]


def write(
    path: str | os.PathLike[str],
    launches: Iterable[tuple[Launch, Recorder | bytes]],
    *,
    process: Process | None = None,
    modules: Iterable[bytes] = (),
) -> None:
    """Write launches that ran one after the other.

    Parameters
    ----------
    path
        The file; what was there is overwritten.
    launches
        Each launch with its records. For launches that overlap use `TraceWriter`.
    process
        The process; by default a hand-made one.
    modules
        Modules (cubins) to keep.

    Raises
    ------
    SystemRefusedError
        When the file cannot be written.
    InvalidError
        When records are malformed or name another launch.
    """
    with TraceWriter(path, msgspec.json.encode(process or make_process())) as writer:
        for module in modules:
            writer.module(module)
        for launch, records in launches:
            writer.begin(msgspec.json.encode(launch))
            writer.records(records.data if isinstance(records, Recorder) else records)
            writer.end(launch.sequence)
