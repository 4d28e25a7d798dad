"""Where a command's text goes: standard output or a file."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING

from cuvein.collect.errors import CuveinError, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "CLOSED_PIPE",
    "coloured",
    "encoding",
    "give_up",
    "listed",
    "prepare",
    "send",
    "width",
    "write_file",
]

CLOSED_PIPE = 128 + 13
"""The exit status when the reader of a pipe has seen enough: that of SIGPIPE."""

_PIPE_WIDTH = 100
_NAMED = 5


def coloured() -> bool:
    """Return whether standard output shows colours and the user wants them."""
    return _terminal() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


def width() -> int:
    """Return how many characters a line of standard output has."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return int(columns)
    import shutil  # noqa: PLC0415 (`cuvein run` does without)

    return shutil.get_terminal_size().columns if _terminal() else _PIPE_WIDTH


def encoding() -> str:
    """Return the encoding of standard output, in lower case and without hyphens."""
    return ((sys.stdout and sys.stdout.encoding) or "ascii").lower().replace("-", "")


def prepare() -> None:
    """Let no text fail for its characters: what an encoding does not have becomes a question mark."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def give_up() -> None:
    """Drop what is still buffered for standard output, so that nothing fails again when Python ends."""
    if sys.stdout is not None:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def listed(names: Sequence[str]) -> str:
    """Write a list of names, the first few of a long one."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def send(text: str) -> None:
    """Write to standard output, all of it.

    Raises
    ------
    CuveinError
        When standard output is closed or full.
    SystemExit
        When its reader has seen enough; the status is that of a program that a closed pipe ended.
    """
    stream = sys.stdout
    if stream is None:
        raise CuveinError(
            Status.UNWRITABLE_OUTPUT, "standard output is closed, so there is nowhere to write."
        )
    known = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(known, "replace").decode(known))
        stream.flush()
    except BrokenPipeError:
        give_up()
        sys.exit(CLOSED_PIPE)
    except OSError as error:
        give_up()
        why = (error.strerror or str(error)).lower()
        raise CuveinError(Status.UNWRITABLE_OUTPUT, f"standard output cannot be written: {why}.") from None


def write_file(path: Path, text: str) -> None:
    """Write a file whole or not at all; devices and pipes are written directly.

    Raises
    ------
    ProfileWriteError
        If it cannot be written, or is a profile. A file that was there is then unchanged.
    """
    from cuvein.profile.writing import replace_other  # noqa: PLC0415 (`cuvein run` does without)

    replace_other(text.encode("utf-8", "replace"), path)


def _terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()
