"""Profiles that a process had made and not yet written to files when it ended; see ``monitor/journal.h``."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from cuvein.profile.errors import ProfileReadError, ProfileWriteError, reason
from cuvein.profile.reading import decode
from cuvein.profile.writing import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["FILE", "Emptied", "empty", "is_there", "waiting"]

FILE = "journal"
_MAGIC = b"cuvein journal 2"
_ANY_MAGIC = b"cuvein journal "
_PROFILE, _COUNTS = _KINDS = 1, 2  # what an entry holds: Journal::Kind; 0: nothing
_HEAD = struct.Struct("<16sII")
_ENTRY = struct.Struct("<QQII")
_LARGEST = 64 << 20  # bytes; the monitor makes it 4 MiB
_MOST = 1 << 16  # entries; the monitor makes it 1024


class Emptied(NamedTuple):
    """How many profiles got a file, and a sentence about what is left in the journal, if anything is."""

    written: int
    left: str | None


def is_there(folder: Path) -> bool:
    """Whether there is a journal of cuvein's, of any version, and not another file of that name."""
    return (_content(folder / FILE, version=None) or b"").startswith(_ANY_MAGIC)


def empty(folder: Path) -> Emptied:
    """Give each profile in the journal of a process that has ended its file, and remove the journal.

    It stays when something else is in it, since it may be somebody's file, or somebody may know how to mend
    it.

    Parameters
    ----------
    folder
        That of the process. Where it has no journal nothing happens.

    Raises
    ------
    ProfileWriteError
        A file cannot be written, or the journal cannot be read or is of another version of cuvein; it is
        still there.
    """
    journal = folder / FILE
    data = _content(journal)
    if data is None:
        return Emptied(0, None)
    if not data.startswith(_MAGIC) and not _is_blank(data):
        return Emptied(
            0,
            f"{journal} does not begin as a journal of cuvein does and was left as it is; "
            "launches that it may hold are left out. Remove it to go on without them.",
        )
    written = damaged = 0
    table = _table(data)
    for sequence, kind, content in _entries(data, table or ()):
        file = _file(folder, sequence)
        # It may have been on its way only to be struck off.
        if file.exists():
            continue
        profile = _whole(content) if kind == _PROFILE else _made(content, file)
        if profile:
            replace_file(profile, file)
            written += 1
        else:
            damaged += 1
    if damaged or table is None:
        what = "the launches" if table is None else "1 launch" if damaged == 1 else f"{damaged} launches"
        left = f"{what} in {journal} cannot be recovered, since that file is damaged; "
        return Emptied(written, left + "remove it to go on without.")
    # Left behind, it holds nothing that has no file.
    with suppress(OSError):
        journal.unlink()
    return Emptied(written, None)


def waiting(folder: Path) -> int:
    """Count the launches in the journal of a process that have no file yet; errors as in `empty`."""
    table = _table(_content(folder / FILE) or b"") or ()
    return sum(not _file(folder, sequence).exists() for _, _, sequence, _ in table)


def _file(folder: Path, sequence: int) -> Path:
    return folder / f"launch-{sequence:06}.json"


def _content(journal: Path, version: bytes | None = _MAGIC) -> bytes | None:
    """Return what is in the journal, no more than there can be; ``None`` where there is none.

    One of another than the ``version`` is refused, unless any will do.
    """
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
    if version and data.startswith(_ANY_MAGIC) and not data.startswith(version):
        raise ProfileWriteError(
            f"{journal} holds profiles as another version of cuvein writes them; "
            "read the folder with that version."
        )
    return data


def _whole(profile: bytes) -> bytes | None:
    """Return the profile; ``None`` where it is none, since one such file makes a folder unreadable.

    When a machine loses power, pages of the journal may not be on its disk.
    """
    try:
        decode(profile)
    except ProfileReadError:
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


def _is_blank(data: bytes) -> bool:
    """Whether a process has made the file and come no further; its mark is the last part of the head."""
    return not data[: len(_MAGIC)].strip(b"\0") and not data[_HEAD.size :].strip(b"\0")


def _table(data: bytes) -> list[tuple[int, int, int, int]] | None:
    """Return offset, size, sequence and kind of each launch that is there; ``None`` where that is damaged."""
    if not data.startswith(_MAGIC):
        return []
    if len(data) < _HEAD.size:
        return None
    _, entries, _ = _HEAD.unpack_from(data)
    if entries > _MOST or _HEAD.size + entries * _ENTRY.size > len(data):
        return None
    table = _ENTRY.iter_unpack(data[_HEAD.size :][: entries * _ENTRY.size])
    return [entry for entry in table if entry[3]]


def _entries(data: bytes, table: Iterable[tuple[int, int, int, int]]) -> Iterator[tuple[int, int, bytes]]:
    """Give sequence, kind and content of each launch; of one that is damaged the content is empty."""
    # They lie apart, so where all together are larger than the file, the sizes are wrong.
    left = len(data)
    for offset, size, sequence, kind in table:
        whole = kind in _KINDS and size <= left and offset + size <= len(data)
        left -= size if whole else 0
        yield sequence, kind, data[offset : offset + size] if whole else b""
