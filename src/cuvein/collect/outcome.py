"""What the monitor left behind: one folder a process, read after the program has ended."""

from __future__ import annotations

import fnmatch
import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cuvein.collect import journal
from cuvein.profile.errors import ProfileReadError, ProfileWriteError
from cuvein.profile.model import KernelSeen, ProcessSummary
from cuvein.profile.reading import PROCESS_FILE, read_process

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Outcome", "ProcessFolder", "is_running", "may_run", "process_id", "read", "recover"]


class _Completeness(msgspec.Struct, frozen=True):
    """The one field of a launch profile that matters here; the others are skipped, which is fast."""

    incomplete: str | None = None


@dataclass(frozen=True)
class ProcessFolder:
    """One process: its folder, the monitor's summary, its launch profiles and those that lack something."""

    folder: Path
    summary: ProcessSummary
    names: list[str]
    incomplete: list[tuple[Path, str]]

    @property
    def profiles(self) -> list[Path]:
        """Its launch profiles."""
        return [self.folder / name for name in self.names]

    @property
    def running(self) -> bool:
        """Whether the process is still there (a daemon, or a child that outlived the program)."""
        return is_running(self.summary)


@dataclass(frozen=True)
class Outcome:
    """All processes of a run; ``unreadable`` holds a sentence for each file that could not be read."""

    processes: list[ProcessFolder]
    unreadable: list[str]

    @property
    def profiles(self) -> int:
        """Launch profiles on disk."""
        return sum(len(process.names) for process in self.processes)

    @property
    def problems(self) -> list[str]:
        """What the monitor had to say, each sentence once."""
        return list(dict.fromkeys(text for process in self.processes for text in process.summary.problems))

    @property
    def incomplete(self) -> list[tuple[Path, str]]:
        """Profiles that lack something, and what."""
        return [pair for process in self.processes for pair in process.incomplete]

    @property
    def left_to_host(self) -> dict[str, int]:
        """Launches that the GPU engine was asked to analyse and the host engine analysed, by the reason."""
        launches: Counter[str] = Counter()
        for process in self.processes:
            for left in process.summary.host_engine:
                launches[left.reason] += left.launches
        return dict(launches)

    @property
    def cut_off(self) -> list[ProcessFolder]:
        """Processes that ended before the monitor could close their record (killed, or left by ``_exit``)."""
        return [p for p in self.processes if not p.summary.finished and not p.running]

    @property
    def traces(self) -> list[Path]:
        """Trace files that exist."""
        paths = (Path(p.summary.trace) for p in self.processes if p.summary.trace)
        return [path for path in paths if path.exists()]

    def kernels(self) -> list[KernelSeen]:
        """Kernels over all processes, those with the most selected launches first."""
        merged: dict[str, KernelSeen] = {}
        for kernel in (k for process in self.processes for k in process.summary.kernels_seen):
            known = merged.get(kernel.mangled)
            merged[kernel.mangled] = KernelSeen(
                kernel.name,
                kernel.mangled,
                kernel.launches + (known.launches if known else 0),
                kernel.selected + (known.selected if known else 0),
            )
        return sorted(merged.values(), key=lambda kernel: (-kernel.selected, -kernel.launches, kernel.name))


def read(output: Path) -> Outcome:
    """Read the folders under ``output``; what cannot be read is reported in ``unreadable``, not raised."""
    processes = []
    unreadable: list[str] = []
    for file in sorted(output.glob(f"process-*/{PROCESS_FILE}")):
        summary = None
        try:
            summary = read_process(file)
        except ProfileReadError as error:
            unreadable.append(str(error))
        try:
            recovered = recover(file.parent, summary)
            if recovered.left:
                unreadable.append(recovered.left)
        except ProfileWriteError as error:
            unreadable.append(
                f"{error} What has no file yet is in {file.parent / journal.FILE}; "
                f"once it can be written, this does it: cuvein report {output}"
            )
        if summary is None:
            continue
        # There may be thousands; to make a path of each takes longer than all else here.
        names = sorted(fnmatch.filter(os.listdir(file.parent), "launch-*.json"))  # noqa: PTH208 (see above)
        # To read them takes a while, too, so the monitor's word counts where it has the last one.
        whole = summary.finished and summary.incomplete == 0 and len(names) == summary.profiles
        incomplete = [] if whole else list(_incomplete((file.parent / name for name in names), unreadable))
        processes.append(ProcessFolder(file.parent, summary, names, incomplete))
    return Outcome(processes, unreadable)


def recover(folder: Path, summary: ProcessSummary | None) -> journal.Emptied:
    """Give profiles that a process has left without files theirs.

    A process may have been killed, or its disk have been full. What still runs is left alone, and so is what
    is not known to have ended.

    Parameters
    ----------
    folder
        That of the process.
    summary
        What is said of it there. ``None``: that cannot be read.

    Raises
    ------
    ProfileWriteError
        They cannot be written; nothing is lost.
    """
    return journal.Emptied(0, None) if may_run(folder, summary) else journal.empty(folder)


def may_run(folder: Path, summary: ProcessSummary | None) -> bool:
    """Whether a process is still there, or not known to have ended; parameters as of `recover`."""
    return is_running(summary) if summary else _exists(process_id(folder, None))


def process_id(folder: Path, summary: ProcessSummary | None) -> int | None:
    """Return the number of a process, by the name of its folder where there is no summary, if that has it."""
    if summary:
        return summary.process.pid
    name = re.fullmatch(r"process-(\d{1,9})", folder.resolve().name)
    return int(name[1]) if name else None


def is_running(summary: ProcessSummary) -> bool:
    """Whether the process has not said that it has ended, and there is one with its number."""
    return not summary.finished and _exists(summary.process.pid)


def _exists(pid: int | None) -> bool:
    """Whether there is such a process, or may be one, since its number is not known."""
    if pid is None:
        return True
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    # One that has ended is still listed until its parent asks, which in a container may be never.
    return status.rpartition(b") ")[2][:1] not in (b"Z", b"X")


def _incomplete(profiles: Iterable[Path], unreadable: list[str]) -> Iterable[tuple[Path, str]]:
    decoder = msgspec.json.Decoder(_Completeness)
    for path in profiles:
        try:
            sentence = decoder.decode(path.read_bytes()).incomplete
        except (OSError, msgspec.DecodeError, RecursionError) as error:  # noqa: PERF203 (others are read)
            unreadable.append(f"{path} cannot be read: {error}.")
        else:
            if sentence is not None:
                yield path, sentence
