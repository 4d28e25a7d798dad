"""The paths of launch profiles that several commands take."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cuvein.cli import messages, output
from cuvein.collect import journal, outcome
from cuvein.collect.errors import CuveinError, Status
from cuvein.profile.errors import ProfileReadError, ProfileWriteError, reason
from cuvein.profile.reading import PROCESS_FILE, find, read_process

__all__ = ["Found", "Paths", "find_profiles"]

Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH...",
        help="Folders that 'cuvein run' or 'cuvein analyze' wrote, or single launch profiles.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Found:
    """Launch profiles, and whether some that were counted are, or may be, left out."""

    profiles: list[Path]
    some_left_out: bool


def find_profiles(paths: list[Path]) -> Found:
    """Return the launch profiles at the paths, each once, however often and by whatever name it is given.

    Raises
    ------
    CuveinError
        When there is a folder without profiles: nothing was profiled.
    ProfileReadError
        When a path does not exist or cannot be read.
    """
    files: dict[str, Path] = {}
    some_left_out = False
    for path in paths:
        journals, closed = _walk(path)
        for error in closed:
            messages.warn(f"{error.filename} cannot be read: {reason(error)}; profiles in it are left out.")
        some_left_out |= bool(closed)
        for file in journals:
            some_left_out |= not _recover(file.parent)
        for profile in _find(path):
            files.setdefault(os.path.realpath(profile), profile)
    return Found(list(files.values()), some_left_out)


def _walk(path: Path) -> tuple[list[Path], list[OSError]]:
    """Return the journals in a folder and below, and why folders there cannot be read."""
    journals: list[Path] = []
    closed: list[OSError] = []
    for folder, _, files in os.walk(path, onerror=closed.append) if path.is_dir() else ():
        if journal.FILE in files:
            journals.append(Path(folder, journal.FILE))
    return sorted(journals), closed


def _find(path: Path) -> list[Path]:
    try:
        return find(path)
    except ProfileReadError as error:
        if path.is_dir():
            raise CuveinError(
                Status.NOTHING_PROFILED, f"nothing was profiled: {_seen(path) or error}"
            ) from None
        raise


def _recover(folder: Path) -> bool:
    """Write the files of profiles that a process has left without; say whether none is left out."""
    file = folder / journal.FILE
    summary, unknown = None, ""
    try:
        try:
            summary = read_process(folder)
        except ProfileReadError as error:
            unknown = str(error)
            if not journal.is_there(folder) and not (folder / PROCESS_FILE).exists():
                return True  # something else of that name
        runs = outcome.may_run(folder, summary)
        waiting = journal.waiting(folder) if runs else 0
        recovered = journal.Emptied(0, None) if runs else journal.empty(folder)
    except ProfileWriteError as error:
        messages.warn(f"{error} Until then profiles in {file} are left out.")
        return False
    if recovered.written:
        noun = "profile" if recovered.written == 1 else "profiles"
        messages.say(f"{recovered.written} {noun} that had no file yet written to {folder}")
    if recovered.left:
        messages.warn(recovered.left)
    if waiting:
        # The number may be another's: on another machine, in a container, after a restart.
        noun = "launch" if waiting == 1 else "launches"
        number = outcome.process_id(folder, summary)
        why = (
            f"process {number} still runs, or another that has its number; "
            "read the folder again once that has ended."
            if number is not None
            else f"it is not known whether their process has ended, since {unknown}"
        )
        messages.warn(f"{waiting} {noun} in {file} left out: {why}")
    return not waiting and not recovered.left


def _seen(folder: Path) -> str | None:
    """Say which kernels were launched but not profiled, where a run left a note of it."""
    names: dict[str, None] = {}
    for file in sorted(folder.rglob(PROCESS_FILE)):
        with contextlib.suppress(ProfileReadError):
            names.update((kernel.name, None) for kernel in read_process(file).kernels_seen)
    if not names:
        return None
    return f"none of the kernels that the program launched was selected: {output.listed(list(names))}."
