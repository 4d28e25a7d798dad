"""Reading launch profiles: one file, or a folder with those of a whole run.

Every failure is a :class:`ProfileReadError` whose text is one sentence: what is wrong with which file and
what to do about it.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from cuvein.profile.errors import ProfileReadError, reason
from cuvein.profile.invariants import dangling, unbalanced
from cuvein.profile.model import FORMAT, PROCESS_FORMAT, VERSION, LaunchProfile, ProcessSummary

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PROCESS_FILE", "decode", "find", "read", "read_all", "read_process"]

PROCESS_FILE = "process.json"
_PROFILE_FILES = "launch-*.json"
_TRACE = b"\x89CUVEIN\n"  # what a trace begins with: trace/format.h

_Document = TypeVar("_Document", LaunchProfile, ProcessSummary)


class _Head(msgspec.Struct):
    """What says which kind of document it is; read first, so that a later version is not called damaged."""

    format: object = None
    version: object = None


def decode(data: bytes, name: str = "the profile") -> LaunchProfile:
    """Make a launch profile of a JSON document.

    Parameters
    ----------
    data : bytes
        The document, UTF-8.
    name : str
        What to call it in error messages, usually its path.

    Raises
    ------
    ProfileReadError
        When the document is cut off, is not JSON, is something else than a launch profile, was written by a
        later version of the format, has unknown, missing or ill-typed fields, refers to things that it
        does not hold, or has numbers that cannot belong together.
    """
    profile = _decode(data, name, FORMAT, LaunchProfile)
    faults = dangling(profile) or unbalanced(profile)
    if faults:
        raise ProfileReadError(f"{name} contradicts itself: {faults[0]}. Profile the launch again.")
    return profile


def read(path: Path | str) -> LaunchProfile:
    """Read one launch profile from a file; errors as in :func:`decode`, and when the file cannot be read."""
    return decode(_bytes(Path(path)), str(path))


def read_process(path: Path | str) -> ProcessSummary:
    """Read the summary of a process: the file ``process.json`` itself, or the folder that holds it."""
    file = Path(path)
    if file.is_dir():
        file /= PROCESS_FILE
    return _decode(_bytes(file), str(file), PROCESS_FORMAT, ProcessSummary)


def find(path: Path | str) -> list[Path]:
    """Find the launch profiles that ``path`` stands for.

    Parameters
    ----------
    path : Path or str
        A file, which stands for itself, or a folder, which stands for every ``launch-*.json`` in it and
        below.

    Returns
    -------
    list of Path
        At least one, by folder and then by launch sequence number.

    Raises
    ------
    ProfileReadError
        When there is nothing at ``path``, or a folder without profiles.
    """
    path = Path(path)
    try:
        if path.is_dir():
            # Broken links and folders of that name are no profiles.
            files = sorted((file for file in path.rglob(_PROFILE_FILES) if file.is_file()), key=_order)
            if not files:
                raise ProfileReadError(
                    f"{path} holds no launch profiles ({_PROFILE_FILES}), nor do its subfolders; "
                    "give the folder that `cuvein run --output` wrote."
                )
            return files
        if not path.exists():
            raise ProfileReadError(f"{path} does not exist; give a launch profile or a folder of them.")
    except OSError as error:
        raise ProfileReadError(f"{path} cannot be read: {reason(error)}.") from error
    return [path]


def read_all(*paths: Path | str) -> Iterator[LaunchProfile]:
    """Read the launch profiles that paths stand for (see :func:`find`), up to the first bad one.

    A launch comes once: of profiles with the same ``id``, copies under another name, the first.
    """
    return _each_launch([file for path in paths for file in find(path)])


def _each_launch(files: list[Path]) -> Iterator[LaunchProfile]:
    seen = set()
    for file in files:
        profile = read(file)
        if profile.id not in seen:
            seen.add(profile.id)
            yield profile


def _decode(data: bytes, name: str, expected: str, document: type[_Document]) -> _Document:
    try:
        head = msgspec.json.decode(data, type=_Head)
    except msgspec.ValidationError as error:
        raise ProfileReadError(f"{name} is not a {expected}: it holds no JSON object.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProfileReadError(_damage(data, name, expected, error)) from error
    if head.format != expected:
        stated = (
            f"its format is {_short(repr(head.format))}" if head.format is not None else "it states no format"
        )
        raise ProfileReadError(f"{name} is not a {expected}: {stated}.")
    version = head.version
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ProfileReadError(
            f"{name} states no valid version of the {expected} format: {_short(repr(version))}."
        )
    if version > VERSION:
        raise ProfileReadError(
            f"{name} is a {expected} of version {version}, this cuvein reads up to version {VERSION}; "
            "update cuvein to read it."
        )
    try:
        return msgspec.json.decode(data, type=document)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        detail = _short(str(error)[:1].lower() + str(error)[1:])
        raise ProfileReadError(f"{name} does not fit the {expected} format: {detail}.") from error


def _short(text: str) -> str:
    """Cut what a document brings into a sentence: both ends say what it is."""
    return text if len(text) <= 300 else f"{text[:150]} ... {text[-150:]}"


def _damage(data: bytes, name: str, expected: str, error: Exception) -> str:
    if not data.strip():
        return f"{name} is empty; profile the launch again."
    if data.startswith(_TRACE):
        return f"{name} is a trace; this makes profiles of it: cuvein analyze {shlex.quote(name)}"
    if "truncated" in str(error):
        return f"{name} ends in the middle of the document, so it was cut off; profile the launch again."
    return f"{name} is not a {expected}: it is not valid JSON ({error})."


def _bytes(path: Path) -> bytes:
    if path.is_dir():
        raise ProfileReadError(f"{path} is a folder where a file is needed.")
    if path.exists() and not path.is_file():
        # Reading a pipe or a device might never return.
        raise ProfileReadError(f"{path} is not a regular file.")
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ProfileReadError(f"{path} does not exist.") from error
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise ProfileReadError(f"{path} cannot be read: {why}.") from error


def _order(path: Path) -> list[tuple[int, str]]:
    """Sort numbers in names by value, since process ids and long runs have no fixed width."""
    parts = re.split(r"(\d+)", str(path))
    return [(int(part), "") if index % 2 else (0, part) for index, part in enumerate(parts)]
