"""From files to graphs, one at a time, so that memory does not grow with the number of profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.graph.graph import Graph
from cuvein.profile.errors import ProfileReadError
from cuvein.profile.reading import find, read, read_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["load", "stream"]


def load(path: Path | str) -> Graph:
    """Return the graph of one launch profile.

    Parameters
    ----------
    path
        A launch profile (``launch-000001.json``), or a folder that holds exactly one.

    Raises
    ------
    cuvein.profile.ProfileReadError
        If the profile cannot be read, or the folder holds none or several. The message is one sentence.
    """
    paths = find(path)
    if len(paths) > 1:
        raise ProfileReadError(f"{path} holds {len(paths)} launch profiles; name one of them.")
    return Graph(read(paths[0]))


def stream(*paths: Path | str) -> Iterator[Graph]:
    """Yield the graphs of launch profiles, or of all below folders, by process and launch; each launch once.

    Raises
    ------
    cuvein.profile.ProfileReadError
        If there is no profile, before the first graph; if a profile cannot be read, when its turn comes.
    """
    return (Graph(profile) for profile in read_all(*paths))
