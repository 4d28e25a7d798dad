"""From what rich prints to text: width, colours, and what an output without Unicode gets."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from rich.console import Console

from cuvein.report import style

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MINIMUM_WIDTH", "WIDE", "printed"]

_LINES = re.compile(r"(\n)")
_COLOURS_AND_LINES = re.compile(r"(\x1b\[[0-9;]*m|\n)")

MINIMUM_WIDTH = 60
WIDE = 100


def printed(show: Callable[[Console], None], width: int, *, colour: bool, unicode: bool) -> str:
    """Return as text what ``show`` prints on a console.

    Parameters
    ----------
    show
        Prints on the console it is given.
    width
        Characters in a line.
    colour
        Whether to send colours.
    unicode
        Whether the output can show other characters than ASCII.
    """
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    with console.capture() as captured:
        show(console)
    # Names come from elsewhere. What shows them makes them printable; this is for what one forgot.
    parts = (_COLOURS_AND_LINES if colour else _LINES).split(captured.get())
    parts[::2] = map(style.printable, parts[::2])
    text = "\n".join(line.rstrip() for line in "".join(parts).splitlines()) + "\n"
    if unicode:
        return text
    ellipsis = style.Glyphs.choose(unicode=False).ellipsis
    return text.replace("\u2026", ellipsis).encode("ascii", "replace").decode()
