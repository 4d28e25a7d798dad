"""The paths of launch profiles that several commands take."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Annotated

import typer

from cuvein.cli import messages, output
from cuvein.collect import journal, outcome
from cuvein.collect.errors import CuveinError, Status
from cuvein.profile.errors import ProfileReadError, ProfileWriteError
from cuvein.profile.reading import PROCESS_FILE, find, read_process

__all__ = ["Paths", "leave_out", "profiles_at"]

Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH...",
        help="Folders that 'cuvein run' or 'cuvein analyze' wrote, or single launch profiles.",
        show_default=False,
    ),
]


def profiles_at(paths: list[Path]) -> list[Path]:
    """Return the launch profiles at the paths, each once, however often and by whatever name it is given.

    Raises
    ------
    CuveinError
        When there is a folder without profiles: nothing was profiled.
    ProfileReadError
        When a path does not exist or cannot be read.
    """
    files: dict[str, Path] = {}
    for path in paths:
        for file in _find(path):
            files.setdefault(os.path.realpath(file), file)
    return list(files.values())


def leave_out(paths: list[Path]) -> bool:
    """Say whether launches at the paths have no profile still, after `profiles_at` made all it could."""
    return any(_leaves_out(folder) for path in paths for folder in _with_journals(path))


def _leaves_out(folder: Path) -> bool:
    try:
        read_process(folder)
        return journal.waiting(folder) != 0
    except ProfileReadError:
        return False  # something else of that name
    except ProfileWriteError:
        return True


def _with_journals(path: Path) -> list[Path]:
    return [file.parent for file in sorted(path.rglob(journal.FILE))] if path.is_dir() else []


def _find(path: Path) -> list[Path]:
    for folder in _with_journals(path):
        _recover(folder)
    try:
        return find(path)
    except ProfileReadError as error:
        if path.is_dir():
            raise CuveinError(
                Status.NOTHING_PROFILED, f"nothing was profiled: {_seen(path) or error}"
            ) from None
        raise


def _recover(folder: Path) -> None:
    """Write the files of profiles that a process has left without, which `cuvein run` could not."""
    try:
        summary = read_process(folder)
        running = outcome.is_running(summary)
        left = journal.waiting(folder) if running else 0
        written = 0 if running else outcome.recover(folder, summary)
    except ProfileReadError:
        return  # something else of that name
    except ProfileWriteError as error:
        messages.warn(f"{error} Until then profiles in {folder / journal.FILE} are left out.")
    else:
        if written:
            noun = "profile" if written == 1 else "profiles"
            messages.say(f"{written} {noun} that had no file yet written to {folder}")
        if left:
            # The number may be another's: on another machine, in a container, after a restart.
            noun = "launch" if left == 1 else "launches"
            messages.warn(
                f"{left} {noun} in {folder / journal.FILE} left out: process {summary.process.pid} "
                "still runs, or another that has its number; read the folder again once that has ended."
            )


def _seen(folder: Path) -> str | None:
    """Say which kernels were launched but not profiled, where a run left a note of it."""
    names: dict[str, None] = {}
    for file in sorted(folder.rglob(PROCESS_FILE)):
        with contextlib.suppress(ProfileReadError):
            names.update((kernel.name, None) for kernel in read_process(file).kernels_seen)
    if not names:
        return None
    return f"none of the kernels that the program launched was selected: {output.listed(list(names))}."
