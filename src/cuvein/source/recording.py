"""Keep the sources of a finished run with its profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.profile import ProfileError, find, read
from cuvein.source.locate import Locator
from cuvein.source.missing import Missing
from cuvein.source.text import SourceFinder, record_sources

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cuvein.source.text import SourceMode

__all__ = ["record_run"]


def record_run(folder: Path, mode: SourceMode, roots: Iterable[Path] = ()) -> list[str]:
    """Keep the source files of a run's kernels, one ``sources.json`` in the folder of each process.

    Only the files that lines of profiled instructions lie in are kept.

    Parameters
    ----------
    folder
        What ``cuvein run --output`` wrote.
    mode
        ``embed``: hash and text; ``path``: the hash; ``none``: nothing is written.
    roots
        Where to look for files that are not at their recorded path.

    Returns
    -------
    One sentence for each file that could not be kept, and for each process whose record could not be written.
    """
    if mode == "none":
        return []
    problems: list[str] = []
    finder = SourceFinder(roots)
    for process in sorted(path for path in folder.glob("process-*") if path.is_dir()):
        try:
            profiles = find(process)
        except ProfileError:
            # A process that launched nothing.
            continue
        locator = Locator.beside(process, sass=False)
        files: set[str] = set()
        for path in profiles:
            named = _files(path, locator)
            if isinstance(named, Missing):
                problems.append(str(named))
            else:
                files |= named
        try:
            problems += record_sources(process, files, mode, finder)
        except OSError as error:
            problems.append(f"the sources cannot be kept in {process} ({error.strerror})")
    return list(dict.fromkeys(problems))


def _files(path: Path, locator: Locator) -> set[str] | Missing:
    try:
        return locator.files(read(path))
    except ProfileError as error:
        return Missing(str(error).rstrip("."))
