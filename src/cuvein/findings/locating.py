"""Source lines for findings, from the modules that lie beside the profiles."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from cuvein.patterns import SourceLine
from cuvein.source import Locator, Missing, ModuleStore, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cuvein.profile.model import Barrier, LaunchProfile, Node
    from cuvein.source import Frame

__all__ = ["LinesBeside", "source_line"]

# So many reasons are told in full; libraries bring many modules.
_REASONS = 3


def source_line(frames: Sequence[Frame], prefix: str = "") -> SourceLine | None:
    """Return the source line that frames, innermost first, stand for; ``None`` if there are none.

    ``prefix`` is taken off the names of files.
    """
    if not frames:
        return None
    (file, line), *calls = [(frame.file.removeprefix(prefix), frame.line) for frame in frames]
    return SourceLine(file, line, tuple(calls))


class LinesBeside:
    """Finds the source line of a node in the modules beside profiles, and tells why some have none.

    A line is the innermost of an inlined chain. Files below the working directory are named relative to it,
    as code hosts want them. What has no line information is ``None``; the findings name function and PC.
    """

    def __init__(self, paths: Iterable[Path | str]) -> None:
        folders = [path if path.is_dir() else path.parent for path in map(Path, paths)]
        self._locator = Locator(ModuleStore(dict.fromkeys(folders)))
        # A prefix of strings, not a path to use.
        self._here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118

    def __call__(self, profile: LaunchProfile, node: Node | Barrier) -> SourceLine | None:
        """Give the line of a node."""
        return source_line(self._locator.frames(profile, node), self._here)

    def missing(self, profiles: Iterable[LaunchProfile]) -> list[str]:
        """Say why instructions have no line: a sentence without full stop for each reason, the first few."""
        kernels: dict[str, dict[str, None]] = {}
        for profile in profiles:
            why = self._why(profile)
            if why is not None:
                kernels.setdefault(why, {})[profile.launch.kernel.name] = None
        notes = [f"no source lines for {_counted(list(names))}: {why}" for why, names in kernels.items()]
        more = len(notes) - _REASONS
        if more > 1:
            notes[_REASONS:] = [f"{more} more reasons why lines are missing; --by line tells them"]
        return notes

    def _why(self, profile: LaunchProfile) -> str | None:
        if not profile.nodes:
            return None
        known = self._locator.coverage(profile)
        if isinstance(known, Missing):
            return str(known)
        if known.with_line == known.instructions:
            return None
        lacking = known.instructions - known.with_line
        return f"{lacking} of {known.instructions} memory instructions have none; {known.remedy}"


def _counted(kernels: list[str]) -> str:
    return short(kernels[0]) if len(kernels) == 1 else f"{len(kernels)} kernels"
