"""From what rich prints to text: width, colours, and what an output without Unicode gets."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console

from cuvein.report import style

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MINIMUM_WIDTH", "WIDE", "printed"]

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
    text = "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"
    if unicode:
        return text
    ellipsis = style.Glyphs.choose(unicode=False).ellipsis
    return text.replace("\u2026", ellipsis).encode("ascii", "replace").decode()
