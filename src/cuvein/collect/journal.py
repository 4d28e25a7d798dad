"""Profiles that a process had made and not yet written to files when it ended; see ``monitor/journal.h``."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from cuvein.profile.errors import ProfileWriteError
from cuvein.profile.writing import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["FILE", "empty"]

FILE = "journal"
_MAGIC = b"cuvein journal 2"
_ANY_MAGIC = b"cuvein journal "
_PROFILE, _COUNTS = 1, 2  # what an entry holds: Journal::Kind
_HEAD = struct.Struct("<16sII")
_ENTRY = struct.Struct("<QQII")


def empty(folder: Path) -> int:
    """Give each profile in the journal of a process that has ended its file, and remove the journal.

    Parameters
    ----------
    folder
        That of the process. Where it has no journal nothing happens; one that makes no sense is removed.

    Returns
    -------
    int
        How many profiles had no file before.

    Raises
    ------
    ProfileWriteError
        A file cannot be written, or the journal is of another version of cuvein; it is still there.
    """
    journal = folder / FILE
    try:
        data = journal.read_bytes()
    except OSError:
        return 0
    if data.startswith(_ANY_MAGIC) and not data.startswith(_MAGIC):
        raise ProfileWriteError(
            f"{journal} holds profiles as another version of cuvein writes them; "
            "read the folder with that version."
        )
    written = 0
    for sequence, kind, content in _entries(data):
        file = folder / f"launch-{sequence:06}.json"
        # It may have been on its way only to be struck off.
        if not file.exists():
            profile = content if kind == _PROFILE else _made(content, file)
            if profile:
                replace_file(profile, file)
                written += 1
    # Left behind, it holds nothing that has no file.
    with suppress(OSError):
        journal.unlink()
    return written


def _made(counts: bytes, file: Path) -> bytes | None:
    """Make the profile of what the GPU engine has counted; ``None`` where that makes no sense."""
    from cuvein import native  # noqa: PLC0415 (most runs leave nothing)

    try:
        return native.counted_profile(counts)
    except native.InvalidError:
        return None
    except native.NativeError as error:
        raise ProfileWriteError(f"{file} cannot be written: {error}.") from error


def _entries(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    if len(data) < _HEAD.size:
        return
    magic, entries, _ = _HEAD.unpack_from(data)
    if magic != _MAGIC or _HEAD.size + entries * _ENTRY.size > len(data):
        return
    for offset, size, sequence, kind in _ENTRY.iter_unpack(data[_HEAD.size :][: entries * _ENTRY.size]):
        content = data[offset : offset + size]
        if kind in (_PROFILE, _COUNTS) and size and len(content) == size:
            yield sequence, kind, content
