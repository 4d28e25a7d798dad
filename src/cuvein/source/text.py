"""The source text behind a line: found on disk, or kept with the profile."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

import msgspec

from cuvein.source.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cuvein.source.line_program import LineFile
    from cuvein.source.lines import Frame

__all__ = [
    "INDEX_FILE",
    "RecordedSource",
    "RecordedSources",
    "SourceFile",
    "SourceFinder",
    "SourceMode",
    "read_recorded_sources",
    "record_sources",
]

SourceMode = Literal["embed", "path", "none"]

INDEX_FILE = "sources.json"
FORMAT: Literal["cuvein sources"] = "cuvein sources"
VERSION = 1
# A source file is text for people; what is larger is something else.
LIMIT = 8 << 20


class RecordedSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A source file at recording time: SHA-256 of its bytes, and its text when embedding was asked for."""

    sha256: str
    text: str | None = None


class RecordedSources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``sources.json`` beside a process's profiles holds, by the path the compiler recorded."""

    format: Literal["cuvein sources"]
    version: int
    files: dict[str, RecordedSource]


@dataclass(frozen=True)
class SourceFile:
    """The text of a source file.

    Attributes
    ----------
    name
        The path the compiler recorded.
    path
        Where the text was read, ``None`` when it came with the profile.
    changed
        One sentence if the file is not the one that was compiled or recorded; ``None`` if nothing says so.
    """

    name: str
    path: Path | None
    sha256: str
    lines: tuple[str, ...]
    changed: str | None

    def line(self, number: int) -> str | Missing:
        """Give line ``number``, counted from 1."""
        if not 1 <= number <= len(self.lines):
            return Missing(f"{self.path or self.name} has {len(self.lines)} lines, no line {number}")
        return self.lines[number - 1]

    def around(self, number: int, before: int = 2, after: int = 2) -> tuple[tuple[int, str], ...] | Missing:
        """Give line ``number`` with its neighbours, each with its number."""
        middle = self.line(number)
        if isinstance(middle, Missing):
            return middle
        first = max(number - before, 1)
        return tuple(enumerate(self.lines[first - 1 : number + after], first))


class SourceFinder:
    """Finds source files.

    Parameters
    ----------
    roots
        Folders to search when the recorded path does not exist here. ``/build/src/a/b.cu`` is looked for as
        ``ROOT/build/src/a/b.cu``, ``ROOT/src/a/b.cu``, ``ROOT/a/b.cu`` and ``ROOT/b.cu``, the longest first.
    recorded
        Files recorded with the profile. An embedded text is used before anything on disk.
    compiled
        What the line table says of its files, by path; a time or hash there shows a changed file.
    check
        Whether to look for changes at all.
    """

    def __init__(
        self,
        roots: Iterable[Path] = (),
        recorded: Mapping[str, RecordedSource] | None = None,
        compiled: Mapping[str, LineFile] | None = None,
        check: bool = False,
    ) -> None:
        self._roots = [Path(root) for root in roots]
        self._recorded = recorded or {}
        self._compiled = compiled or {}
        self._check = check
        self._files: dict[str, SourceFile | Missing] = {}

    def file(self, name: str) -> SourceFile | Missing:
        """Give the text of the file the compiler recorded as ``name``."""
        if name not in self._files:
            self._files[name] = self._load(name)
        return self._files[name]

    def line(self, frame: Frame) -> str | Missing:
        """Give the text of a frame's line."""
        file = self.file(frame.file)
        return file if isinstance(file, Missing) else file.line(frame.line)

    def _load(self, name: str) -> SourceFile | Missing:
        recorded = self._recorded.get(name)
        if recorded is not None and recorded.text is not None:
            return SourceFile(name, None, recorded.sha256, _lines(recorded.text), None)
        path = self._locate(name)
        if path is None:
            return Missing(f"the source file {name} is not here", "name its folder with --source-root")
        data = _read(path)
        if isinstance(data, Missing):
            return data
        sha256 = hashlib.sha256(data).hexdigest()
        changed = self._changed(name, path, data, sha256) if self._check else None
        return SourceFile(name, path, sha256, _lines(data.decode("utf-8", "replace")), changed)

    def _locate(self, name: str) -> Path | None:
        if name.startswith("/") and _is_file(Path(name)):
            return Path(name)
        parts = [part for part in PurePosixPath(name).parts if part not in ("/", ".", "..")]
        for first in range(len(parts)):
            for root in self._roots:
                candidate = root.joinpath(*parts[first:])
                if _is_file(candidate):
                    return candidate
        return None

    def _changed(self, name: str, path: Path, data: bytes, sha256: str) -> str | None:
        recorded, compiled = self._recorded.get(name), self._compiled.get(name)
        if recorded is not None and recorded.sha256 != sha256:
            return f"{path} has changed since it was recorded"
        if compiled is None:
            return None
        if compiled.md5 is not None:
            same = hashlib.md5(data, usedforsecurity=False).hexdigest() == compiled.md5
            return None if same else f"{path} has changed since it was compiled"
        if compiled.size and compiled.size != len(data):
            return f"{path} has changed since it was compiled"
        # The time alone says nothing of a file that is known to be the recorded one.
        if recorded is None and compiled.time and compiled.time < int(path.stat().st_mtime):
            return f"{path} is newer than the program that was compiled from it, so lines may have moved"
        return None


def record_sources(folder: Path, files: Iterable[str], mode: SourceMode, finder: SourceFinder) -> list[str]:
    """Keep source files with a process's profiles.

    Parameters
    ----------
    folder
        The process's folder; ``sources.json`` is written there.
    files
        Paths as the compiler recorded them.
    mode
        ``embed``: hash and text; ``path``: the hash, so that a later change is noticed; ``none``: nothing.
    finder
        Finds the files.

    Returns
    -------
    One sentence for each file that could not be read.

    Raises
    ------
    OSError
        When the file cannot be written.
    """
    if mode == "none":
        return []
    kept: dict[str, RecordedSource] = {}
    problems: list[str] = []
    for name in sorted(set(files)):
        found = finder.file(name)
        if isinstance(found, Missing):
            problems.append(str(found))
        else:
            text = "\n".join(found.lines) if mode == "embed" else None
            kept[name] = RecordedSource(found.sha256, text)
    document = RecordedSources(FORMAT, VERSION, kept)
    target = folder / INDEX_FILE
    temporary = target.with_suffix(".tmp")
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1))
    temporary.replace(target)
    return problems


def read_recorded_sources(folder: Path) -> dict[str, RecordedSource] | Missing:
    """Read ``sources.json`` of a process's folder.

    Returns
    -------
    The files by the path the compiler recorded (none recorded: empty), or what is wrong with the file.
    """
    path = folder / INDEX_FILE
    try:
        document = msgspec.json.decode(path.read_bytes(), type=RecordedSources)
    except FileNotFoundError:
        return {}
    except OSError as error:
        return Missing(f"{path} cannot be read ({error.strerror})")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Missing(f"{path} is damaged ({error})")
    if document.version > VERSION:
        return Missing(f"{path} is of a newer version ({document.version})", "update cuvein")
    return document.files


def _lines(text: str) -> tuple[str, ...]:
    # Compilers count lines by line feeds; splitlines() would also split at form feeds and the like.
    return tuple(line.removesuffix("\r") for line in text.removesuffix("\n").split("\n"))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        # No permission, too long a name, a zero byte.
        return False


def _read(path: Path) -> bytes | Missing:
    try:
        if path.stat().st_size > LIMIT:
            return Missing(f"{path} is larger than {LIMIT >> 20} MiB, which no source file is")
        return path.read_bytes()
    except OSError as error:
        return Missing(f"{path} cannot be read ({error.strerror})")
