"""The output folder: its name, making it, and refusing to mix two runs."""

from __future__ import annotations

import re
from pathlib import Path

from cuvein.collect.errors import CuveinError, Status

__all__ = [
    "CONFIGURATION",
    "check_input",
    "check_trace",
    "discard_if_empty",
    "make",
    "make_numbered",
    "name_for",
]

CONFIGURATION = "config.json"


def name_for(program: str) -> str:
    """Make a file name of a program's or file's name."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "_", Path(program).name).strip("_.") or "program"


def make_numbered(name: str, parent: Path) -> Path:
    """Make the first folder ``cuvein-NAME-N`` that does not exist yet.

    Raises
    ------
    CuveinError
        The parent folder cannot be written.
    """
    number = 1
    while True:
        folder = parent / f"cuvein-{name}-{number}"
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
        except OSError as error:
            raise _unwritable(folder, error) from None
        else:
            return folder


def make(folder: Path, *, replace: bool) -> Path:
    """Make the folder the user named, parents included; an empty one that exists is used as it is.

    Parameters
    ----------
    folder
        Where the profiles go.
    replace
        Remove the profiles of an earlier run from it. Nothing else in it is touched.

    Raises
    ------
    CuveinError
        It cannot be made or written, is a file, or holds something already.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if replace:
            import shutil  # noqa: PLC0415 (most runs need it not)

            for marker in folder.glob("process-*/process.json"):
                shutil.rmtree(marker.parent)
            (folder / CONFIGURATION).unlink(missing_ok=True)
        elif any(folder.iterdir()):
            raise CuveinError(
                Status.UNWRITABLE_OUTPUT,
                f"{folder} is not empty; choose another --output, or replace the profiles in it with --force",
            )
        probe = folder / ".cuvein"
        probe.touch()
        probe.unlink()
    except FileExistsError:
        raise CuveinError(
            Status.UNWRITABLE_OUTPUT, f"{folder} is a file; choose a folder for --output"
        ) from None
    except OSError as error:
        raise _unwritable(folder, error) from None
    return folder


def check_trace(file: Path, *, replace: bool) -> None:
    """See that a trace file can be written, without leaving one behind.

    Parameters
    ----------
    file
        The trace to be.
    replace
        Whether it may overwrite an earlier one.

    Raises
    ------
    CuveinError
        It exists already, its folder is missing, or it cannot be written.
    """
    try:
        existed = file.exists()
        if existed and not file.is_file() and not file.is_char_device():
            # A pipe without a reader would hold everything up.
            kind = "folder" if file.is_dir() else "pipe or device"
            raise CuveinError(
                Status.UNWRITABLE_OUTPUT, f"{file} is a {kind}; choose a regular file for --trace"
            )
    except OSError as error:
        raise _unwritable(file, error) from None
    if existed and not replace and not file.is_char_device():
        raise CuveinError(
            Status.UNWRITABLE_OUTPUT,
            f"{file} exists already; choose another --trace, or use --force",
        )
    try:
        with file.open("ab"):
            pass
        if not existed:
            # Where a link leads, not the link.
            file.resolve().unlink()
    except OSError as error:
        raise _unwritable(file, error) from None


def check_input(file: Path) -> None:
    """See that a file can be read at all.

    Raises
    ------
    CuveinError
        It is missing, a folder, or may not be read.
    """
    try:
        if file.is_dir():
            raise CuveinError(
                Status.UNREADABLE_INPUT,
                f"cannot read {file}: it is a folder; profiles in it are read by: cuvein report {file}",
            )
        if file.exists() and not file.is_file():
            # Opening a pipe might never return.
            raise CuveinError(Status.UNREADABLE_INPUT, f"cannot read {file}: it is not a regular file")
        with file.open("rb"):
            pass
    except OSError as error:
        raise CuveinError(Status.UNREADABLE_INPUT, f"cannot read {file}: {error.strerror}") from None


def discard_if_empty(folder: Path) -> bool:
    """Remove a folder that no process wrote to, or at least the configuration; true when it is gone."""
    # A process that goes on after the program still needs the configuration.
    if any(folder.glob("process-*")):
        return False
    try:
        (folder / CONFIGURATION).unlink(missing_ok=True)
        folder.rmdir()
    except OSError:
        return False
    return True


def _unwritable(path: Path, error: OSError) -> CuveinError:
    return CuveinError(Status.UNWRITABLE_OUTPUT, f"cannot write {path}: {error.strerror}")
