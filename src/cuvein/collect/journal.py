"""Profiles that a process had made and not yet written to files when it ended; see ``monitor/journal.h``."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from cuvein.profile.errors import ProfileWriteError, reason
from cuvein.profile.writing import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["FILE", "empty", "waiting"]

FILE = "journal"
_MAGIC = b"cuvein journal 2"
_ANY_MAGIC = b"cuvein journal "
_PROFILE, _COUNTS = 1, 2  # what an entry holds: Journal::Kind
_HEAD = struct.Struct("<16sII")
_ENTRY = struct.Struct("<QQII")
_LARGEST = 64 << 20  # bytes; the monitor makes it 4 MiB


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
        A file cannot be written, or the journal cannot be read or is of another version of cuvein; it is
        still there.
    """
    journal = folder / FILE
    data = _content(journal)
    if data is None:
        return 0
    written = 0
    for sequence, kind, content in _entries(data):
        file = _file(folder, sequence)
        # It may have been on its way only to be struck off.
        if not file.exists():
            profile = _whole(content) if kind == _PROFILE else _made(content, file)
            if profile:
                replace_file(profile, file)
                written += 1
    # Left behind, it holds nothing that has no file.
    with suppress(OSError):
        journal.unlink()
    return written


def waiting(folder: Path) -> int:
    """Count the launches in the journal of a process that have no file yet; errors as in `empty`."""
    entries = _entries(_content(folder / FILE) or b"")
    return sum(not _file(folder, sequence).exists() for sequence, _, _ in entries)


def _file(folder: Path, sequence: int) -> Path:
    return folder / f"launch-{sequence:06}.json"


def _content(journal: Path) -> bytes | None:
    """Return what is in the journal, no more than there can be; ``None`` where there is none."""
    try:
        # To open a pipe might never return.
        if not journal.is_file():
            return None
        with journal.open("rb") as file:
            data = file.read(_LARGEST)
    except FileNotFoundError:
        return None  # somebody else has just emptied it
    except OSError as error:
        raise ProfileWriteError(f"{journal} cannot be read: {reason(error)}.") from error
    if data.startswith(_ANY_MAGIC) and not data.startswith(_MAGIC):
        raise ProfileWriteError(
            f"{journal} holds profiles as another version of cuvein writes them; "
            "read the folder with that version."
        )
    return data


def _whole(profile: bytes) -> bytes | None:
    """Return the profile; ``None`` where parts are missing, since one such file makes a folder unreadable.

    When a machine loses power, pages of the journal may not be on its disk.
    """
    try:
        msgspec.json.decode(profile, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    return profile


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
