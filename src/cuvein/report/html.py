"""The browser report: one HTML file that needs no network, and the same view as JSON.

The page is ``assets/report.html``, built from ``web/`` and committed, so that installing needs no Node. The
view goes into it in pieces: zlib, then base64, each in a script element the browser does not run.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import zlib
from importlib import resources
from typing import TYPE_CHECKING

import msgspec

from cuvein.profile.errors import ProfileError, ProfileReadError, ProfileWriteError, reason
from cuvein.profile.reading import PROCESS_FILE, find, read_process
from cuvein.profile.writing import replace_other
from cuvein.report.view import build
from cuvein.report.view_model import FORMAT, VERSION, View
from cuvein.source import Locator

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from cuvein.profile.model import LaunchProfile, ProcessSummary
    from cuvein.report.view_model import Index

__all__ = ["VIEW_SUFFIX", "page", "write_report"]

VIEW_SUFFIX = ".json"
"""A report file whose name ends so is the view as JSON instead of a page."""

_PLACE = "<!--cuvein-data-->"
# Level 9 takes four times as long as 6 for 2 % less.
_LEVEL = 6


def write_report(
    profiles: Iterable[LaunchProfile],
    paths: Sequence[Path],
    file: Path,
    *,
    roots: Iterable[Path] = (),
) -> None:
    """Write the browser report of launch profiles.

    Parameters
    ----------
    profiles
        The profiles to show; read once.
    paths
        The files and folders they come from: modules, sources and facts of the processes are beside them.
    file
        Where to write. A page; the view as JSON if its name ends in ``.json``.
    roots
        Folders to search for source files.

    Raises
    ------
    ProfileReadError
        If a profile cannot be read.
    ProfileWriteError
        If the file cannot be written; what was there before is then unchanged.
    """
    if file.is_dir():
        raise ProfileWriteError(f"{file} is a folder; give the name of a file to write.")
    if not file.absolute().parent.is_dir():
        raise ProfileWriteError(f"{file} cannot be written: there is no folder {file.absolute().parent}.")
    beside = dict.fromkeys(profile.parent for path in paths for profile in find(path))
    locator = Locator.beside(*beside, roots=roots, check=True)
    as_json = file.name.endswith(VIEW_SUFFIX)
    parts = _Parts(packed=not as_json)
    index = build(profiles, parts, title=_title(paths), locator=locator, summaries=_summaries(paths))
    if as_json:
        document = View(FORMAT, VERSION, index, [msgspec.Raw(part) for part in parts.kept])
        replace_other(msgspec.json.encode(document) + b"\n", file)
    else:
        replace_other(page(index, parts.kept), file)


def page(index: Index, parts: Sequence[bytes]) -> bytes:
    """Make the page of an index and its parts, these packed already."""
    asset = resources.files("cuvein.report").joinpath("assets/report.html").read_text(encoding="utf-8")
    before, found, after = asset.partition(_PLACE)
    if not found:
        raise ProfileWriteError("The page of the browser report is damaged; install cuvein again.")
    elements = [_element("cuvein-index", _pack(msgspec.json.encode(index)))]
    elements += [_element(f"cuvein-part-{number}", part) for number, part in enumerate(parts)]
    return b"".join([before.encode(), *elements, after.encode()])


class _Parts:
    """Parts of a view, each kept once: launches of a kernel mostly have equal graphs."""

    def __init__(self, *, packed: bool) -> None:
        self.kept: list[bytes] = []
        self._packed = packed
        self._numbers: dict[bytes, int] = {}

    def add(self, part: msgspec.Struct) -> int:
        data = msgspec.json.encode(part)
        digest = hashlib.sha256(data).digest()
        number = self._numbers.setdefault(digest, len(self.kept))
        if number == len(self.kept):
            self.kept.append(_pack(data) if self._packed else data)
        return number


def _pack(data: bytes) -> bytes:
    return base64.b64encode(zlib.compress(data, _LEVEL))


def _element(identifier: str, data: bytes) -> bytes:
    # Base64 cannot close the element, whatever the names in the profiles are.
    return b'<script type="application/octet-stream" id="%b">%b</script>\n' % (identifier.encode(), data)


def _title(paths: Sequence[Path]) -> str:
    names = [path.resolve().name for path in paths]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _summaries(paths: Sequence[Path]) -> Iterator[ProcessSummary]:
    """Read what is known of the processes; a report is a report without it."""
    files: dict[Path, None] = {}
    for path in paths:
        try:
            found = sorted(path.rglob(PROCESS_FILE)) if path.is_dir() else [path.parent / PROCESS_FILE]
        except OSError as error:
            raise ProfileReadError(f"{path} cannot be read: {reason(error)}.") from error
        files.update(dict.fromkeys(found))
    for file in files:
        with contextlib.suppress(ProfileError):
            yield read_process(file)
