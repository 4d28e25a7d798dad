"""Source lines for findings, from the modules that lie beside the profiles."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cuvein.patterns import SourceLine
from cuvein.profile.model import Barrier, LaunchProfile, Node
from cuvein.source import Locator, Missing, ModuleStore, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cuvein.source import Frame

__all__ = ["LinesBeside", "LinesMissing", "Locate", "located", "source_line"]

Locate = Callable[[LaunchProfile, Node | Barrier], SourceLine | Missing | None]
"""Finds the source line of an instruction, or says why there is none."""


def source_line(frames: Sequence[Frame] | Missing, prefix: str = "") -> SourceLine | Missing:
    """Return the source line that frames, innermost first, stand for, or why there is none.

    ``prefix`` is taken off the names of files.
    """
    if isinstance(frames, Missing):
        return frames
    (file, line), *calls = [(frame.file.removeprefix(prefix), frame.line) for frame in frames]
    return SourceLine(file, line, tuple(calls))


def located(
    locate: Locate | None, profile: LaunchProfile, node: Node | Barrier
) -> tuple[SourceLine | None, str | None]:
    """Return the source line of an instruction and, where there is none, why; both ``None``: nobody knows."""
    found = None if locate is None else locate(profile, node)
    return (None, str(found)) if isinstance(found, Missing) else (found, None)


class LinesBeside:
    """Finds the source line of a node in the modules beside profiles.

    A line is the innermost of an inlined chain. Files below the working directory are named relative to it,
    as code hosts want them. Of what has no line information the findings name function and PC.
    """

    def __init__(self, paths: Iterable[Path | str]) -> None:
        folders = [path if path.is_dir() else path.parent for path in map(Path, paths)]
        self._locator = Locator(ModuleStore(dict.fromkeys(folders)))
        # A prefix of strings, not a path to use.
        self._here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118

    def __call__(self, profile: LaunchProfile, node: Node | Barrier) -> SourceLine | Missing:
        """Give the line of a node."""
        return source_line(self._locator.frames(profile, node), self._here)


class LinesMissing:
    """Collects over launches why instructions have no line.

    Parameters
    ----------
    locate
        Finds lines; ``None``: nobody looks for any, and none is missing.
    """

    def __init__(self, locate: Locate | None) -> None:
        self._locate = locate
        # By kernel and module: by function and PC, why there is no line, or None.
        self._known: dict[tuple[str, str | None], dict[tuple[str, int], str | None]] = {}
        self._names: dict[tuple[str, str | None], str] = {}

    def add(self, profile: LaunchProfile) -> None:
        """Look at the instructions of a launch that were not looked at before."""
        if self._locate is None:
            return
        kernel, functions = profile.launch.kernel, profile.launch.functions
        key = kernel.mangled, kernel.module
        self._names[key] = kernel.name
        known = self._known.setdefault(key, {})
        for node in profile.nodes:
            place = functions[node.function].mangled, node.pc
            if place not in known:
                known[place] = located(self._locate, profile, node)[1]

    def sentences(self) -> list[str]:
        """Return a sentence without full stop for each reason, with the kernels it holds for."""
        kernels: dict[str, list[str]] = {}
        for key, known in self._known.items():
            reasons = [reason for reason in known.values() if reason is not None]
            if not reasons:
                continue
            why = "; ".join(dict.fromkeys(reasons))
            if len(reasons) < len(known):
                why = f"{len(reasons)} of {len(known)} memory instructions have none: {why}"
            kernels.setdefault(why, []).append(short(self._names[key]))
        return [
            f"no source lines for {names[0] if len(names) == 1 else f'{len(names)} kernels'}: {why}"
            for why, names in kernels.items()
        ]
