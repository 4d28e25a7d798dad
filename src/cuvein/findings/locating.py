"""Source lines for findings, from the modules that lie beside the profiles."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from cuvein.patterns import SourceLine
from cuvein.source import Locator, ModuleStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cuvein.findings.analysis import Locate
    from cuvein.profile.model import Barrier, LaunchProfile, Node
    from cuvein.source import Frame

__all__ = ["locate_beside", "source_line"]


def source_line(frames: Sequence[Frame], prefix: str = "") -> SourceLine | None:
    """Return the source line that frames, innermost first, stand for; ``None`` if there are none.

    ``prefix`` is taken off the names of files.
    """
    if not frames:
        return None
    (file, line), *calls = [(frame.file.removeprefix(prefix), frame.line) for frame in frames]
    return SourceLine(file, line, tuple(calls))


def locate_beside(paths: Iterable[Path | str]) -> Locate:
    """Return a function that finds the source line of a node of the profiles at ``paths``.

    A line is the innermost of an inlined chain. Files below the working directory are named relative to it,
    as code hosts want them. What has no line information is ``None``, silently: the findings name function
    and PC.
    """
    folders = [path if path.is_dir() else path.parent for path in map(Path, paths)]
    locator = Locator(ModuleStore(dict.fromkeys(folders)))
    here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118  (a prefix of strings, not a path to use)

    def locate(profile: LaunchProfile, node: Node | Barrier) -> SourceLine | None:
        return source_line(locator.frames(profile, node), here)

    return locate
