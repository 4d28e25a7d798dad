"""Finding the program as a shell would."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from cuvein.collect.errors import CuveinError, Status

__all__ = ["find"]


def find(program: str, search: str | None = None) -> str:
    """Path of the file to execute.

    Parameters
    ----------
    program
        A path when it holds a slash, otherwise a name to look for.
    search
        Folders to look in, separated by colons; ``None`` for ``PATH``.

    Raises
    ------
    CuveinError
        With status 127 when there is no such program, 126 when there is one that cannot be executed.
    """
    if not program:
        raise CuveinError(Status.NOT_FOUND, "the name of the program is empty")
    if "/" in program:
        candidates = [program]
    else:
        folders = (search if search is not None else os.environ.get("PATH", os.defpath)).split(":")
        candidates = [os.path.join(folder or ".", program) for folder in folders]  # noqa: PTH118 (keeps "./")
    refused = None
    for candidate in candidates:
        path = Path(candidate)
        try:
            if path.is_file() and os.access(path, os.X_OK):
                return candidate
            if path.exists():
                refused = refused or candidate
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.ENAMETOOLONG):
                raise
            refused = refused or candidate
    if refused is None:
        where = "" if "/" in program else " in PATH"
        raise CuveinError(Status.NOT_FOUND, f"there is no program {program!r}{where}")
    try:
        why = "it is a folder" if Path(refused).is_dir() else "it has no permission to execute"
    except OSError as error:
        why = (error.strerror or str(error)).lower()
    raise CuveinError(Status.NOT_EXECUTABLE, f"cannot execute {refused!r}: {why}")
