"""Where a command's text goes: standard output or a file."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cuvein.collect.errors import CuveinError, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["coloured", "listed", "send", "width", "write_file"]

_PIPE_WIDTH = 100
_NAMED = 5


def coloured() -> bool:
    """Return whether standard output shows colours and the user wants them."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


def width() -> int:
    """Return how many characters a line of standard output has."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return int(columns)
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_WIDTH


def listed(names: Sequence[str]) -> str:
    """Write a list of names, the first few of a long one."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def send(text: str) -> None:
    """Write to standard output; what its encoding does not have becomes a question mark."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def write_file(path: Path, text: str) -> None:
    """Write a file whole or not at all; devices and pipes are written directly.

    Raises
    ------
    CuveinError
        If it cannot be written. A file that was there is then unchanged.
    """
    data = text.encode("utf-8", "replace")
    temporary: str | None = None
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mask = os.umask(0o077)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(path)
        temporary = None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CuveinError(Status.UNWRITABLE_OUTPUT, f"{path} cannot be written: {why}.") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
