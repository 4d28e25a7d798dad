"""Replaying a trace into a folder laid out as the monitor lays it out."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cuvein import native
from cuvein.profile.errors import ProfileWriteError, reason
from cuvein.profile.model import VERSION, Kernel, KernelSeen, Process, ProcessSummary
from cuvein.profile.reading import PROCESS_FILE, decode
from cuvein.profile.writing import write, write_process
from cuvein.trace import Module, read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Replay", "replay"]


@dataclass
class Replay:
    """What came out of a trace.

    Attributes
    ----------
    profiles
        Launch profiles written.
    incomplete
        Sequence number of each launch that lacks something, and what.
    damage
        Where and how the trace is damaged, or ``None``.
    """

    profiles: int = 0
    incomplete: list[tuple[int, str]] = field(default_factory=list)
    damage: str | None = None


def replay(
    trace: Path,
    output: Path,
    *,
    workers: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Replay a trace and write ``process-PID`` with its profiles and modules.

    Parameters
    ----------
    trace
        Trace file.
    output
        Folder that exists.
    workers
        Threads of the engine, 0 for one a processor.
    progress
        Called now and then with bytes done and bytes in all.

    Raises
    ------
    NativeError
        The trace cannot be read, is none, or is of a later version.
    ProfileWriteError
        A file cannot be written.
    """
    result = Replay()
    seen: Counter[Kernel] = Counter()
    process: Process | None = None
    folder = output

    def keep(document: bytes) -> None:
        nonlocal process, folder
        profile = decode(document, f"a profile of {trace}")
        if process is None:
            process = profile.process
            folder = output / f"process-{process.pid}"
            _make(folder)
            # Also what a full disk cuts short has to be known as a folder of cuvein's.
            write_process(_summary(process, trace, seen, result, finished=False), folder / PROCESS_FILE)
        launch = profile.launch
        write(profile, folder / f"launch-{launch.sequence:06}.json")
        seen[launch.kernel] += 1
        result.profiles += 1
        if profile.incomplete is not None:
            result.incomplete.append((launch.sequence, profile.incomplete))

    try:
        native.replay(trace, keep, workers=workers, on_progress=progress)
    except native.DamagedError as error:
        result.damage = str(error)
    if process is not None:
        _write_modules(trace, folder / "modules")
        summary = _summary(process, trace, seen, result, finished=result.damage is None)
        write_process(summary, folder / PROCESS_FILE)
    return result


def _summary(
    process: Process, trace: Path, seen: Counter[Kernel], result: Replay, *, finished: bool
) -> ProcessSummary:
    return ProcessSummary(
        format="cuvein process",
        version=VERSION,
        process=process,
        finished=finished,
        kernels_seen=[KernelSeen(kernel.name, kernel.mangled, n, n) for kernel, n in seen.most_common()],
        profiles=result.profiles,
        problems=[] if result.damage is None else [result.damage],
        # A name that is no text is kept readable, as the monitor does with arguments.
        trace=os.fsencode(trace.absolute()).decode(errors="replace"),
    )


def _write_modules(trace: Path, folder: Path) -> None:
    try:
        for part in read(trace):
            if isinstance(part, Module):
                _make(folder)
                (folder / f"{part.sha256}.cubin").write_bytes(part.cubin)
    except native.DamagedError:
        pass  # Reported already; the modules before the damage are written.
    except OSError as error:
        raise ProfileWriteError(f"{folder} cannot be written: {reason(error)}; make room.") from error


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ProfileWriteError(f"{folder} cannot be made: {reason(error)}; choose another place.") from error
