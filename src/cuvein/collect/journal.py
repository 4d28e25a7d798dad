"""Profiles that a process had made and not yet written to files when it ended; see ``monitor/journal.h``."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from cuvein.profile.writing import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["FILE", "empty"]

FILE = "journal"
_MAGIC = b"cuvein journal 1"
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
        A file cannot be written; the journal is still there.
    """
    journal = folder / FILE
    try:
        data = journal.read_bytes()
    except OSError:
        return 0
    written = 0
    for sequence, profile in _profiles(data):
        file = folder / f"launch-{sequence:06}.json"
        # It may have been on its way only to be struck off.
        if not file.exists():
            replace_file(profile, file)
            written += 1
    # Left behind, it holds nothing that has no file.
    with suppress(OSError):
        journal.unlink()
    return written


def _profiles(data: bytes) -> Iterator[tuple[int, bytes]]:
    if len(data) < _HEAD.size:
        return
    magic, entries, _ = _HEAD.unpack_from(data)
    if magic != _MAGIC or _HEAD.size + entries * _ENTRY.size > len(data):
        return
    for offset, size, sequence, whole in _ENTRY.iter_unpack(data[_HEAD.size :][: entries * _ENTRY.size]):
        profile = data[offset : offset + size]
        if whole == 1 and size and len(profile) == size:
            yield sequence, profile
