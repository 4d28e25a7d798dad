"""What cuvein says goes to standard error: standard output belongs to the program or the report."""

from __future__ import annotations

import contextlib
import sys

__all__ = ["printable", "say", "warn"]


def printable(text: str) -> str:
    """Make any text, names of files and kernels included, fit for a terminal."""
    shown = text.encode(errors="surrogateescape").decode(errors="replace")
    return "".join(letter if letter.isprintable() else "?" for letter in shown)


def say(text: str = "") -> None:
    """Print lines to standard error, each marked as cuvein's."""
    if sys.stderr is None:
        return
    # Standard error may be closed or full; that must not change how the program ended.
    with contextlib.suppress(OSError, ValueError):
        for line in text.split("\n"):
            print(f"cuvein: {printable(line)}".rstrip(), file=sys.stderr)
        sys.stderr.flush()


def warn(text: str) -> None:
    """Print a warning."""
    say(f"warning: {text}")
