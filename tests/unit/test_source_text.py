"""Source text: found, kept with the profile on request, and its changes noticed."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from cuvein.source import Frame, Missing, SourceFile, SourceFinder, read_recorded_sources, record_sources
from cuvein.source.line_program import LineFile

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "// one\n__global__ void two();\r\n\n\x0cfour\n"
COMPILED = "/build/src/part/kernel.cu"


def finder_with(root: Path, **options: object) -> SourceFinder:
    return SourceFinder([root], **options)  # type: ignore[arg-type]


def put(path: Path, text: str = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def found(finder: SourceFinder, name: str = COMPILED) -> SourceFile:
    file = finder.file(name)
    assert isinstance(file, SourceFile), file
    return file


def test_the_recorded_path_is_used_where_it_exists(tmp_path: Path) -> None:
    path = put(tmp_path / "kernel.cu")
    assert found(SourceFinder(), str(path)).path == path


@pytest.mark.parametrize(
    "inside", ["build/src/part/kernel.cu", "src/part/kernel.cu", "part/kernel.cu", "kernel.cu"]
)
def test_a_root_is_searched_for_the_end_of_the_path(inside: str, tmp_path: Path) -> None:
    path = put(tmp_path / inside)
    assert found(finder_with(tmp_path)).path == path


def test_the_longest_match_wins_over_the_order_of_the_roots(tmp_path: Path) -> None:
    put(tmp_path / "a" / "kernel.cu", "other")
    path = put(tmp_path / "b" / "part" / "kernel.cu")
    assert found(SourceFinder([tmp_path / "a", tmp_path / "b"])).path == path


def test_a_relative_path_cannot_leave_the_root(tmp_path: Path) -> None:
    put(tmp_path / "secret.cu")
    (tmp_path / "root").mkdir()
    assert isinstance(finder_with(tmp_path / "root").file("../secret.cu"), Missing)


def test_lines_are_counted_as_compilers_do(tmp_path: Path) -> None:
    put(tmp_path / "kernel.cu")
    file = found(finder_with(tmp_path))
    assert file.lines == ("// one", "__global__ void two();", "", "\x0cfour")
    assert file.around(1, 2, 1) == ((1, "// one"), (2, "__global__ void two();"))
    assert finder_with(tmp_path).line(Frame(COMPILED, 2, None)) == "__global__ void two();"


@pytest.mark.parametrize("line", [0, -1, 5])
def test_a_line_the_file_does_not_have_is_a_reason(line: int, tmp_path: Path) -> None:
    put(tmp_path / "kernel.cu")
    assert "has 4 lines" in str(found(finder_with(tmp_path)).line(line))


def test_what_cannot_be_read_is_a_reason(tmp_path: Path) -> None:
    finder = finder_with(tmp_path)
    assert "is not here" in str(finder.file("/none/kernel.cu"))
    assert "is not here" in str(finder.file("/none/" + "x" * 5000))
    assert "is not here" in str(finder.file("bad\0name"))
    (tmp_path / "folder.cu").mkdir()
    assert "is not here" in str(finder.file("folder.cu"))
    os.mkfifo(tmp_path / "pipe.cu")
    assert "is not here" in str(finder.file("pipe.cu"))
    with (tmp_path / "large.cu").open("wb") as file:
        file.truncate(9 << 20)
    assert "larger than 8 MiB" in str(finder.file("large.cu"))


def test_text_that_is_not_utf_8_is_shown_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_bytes(b"// caf\xe9\n")
    assert found(finder_with(tmp_path)).line(1) == "// caf\ufffd"


def test_embedded_text_serves_when_the_file_is_gone(tmp_path: Path) -> None:
    path = put(tmp_path / "kernel.cu")
    assert record_sources(tmp_path, [COMPILED], "embed", finder_with(tmp_path)) == []
    expected = found(finder_with(tmp_path))
    path.unlink()
    recorded = read_recorded_sources(tmp_path)
    assert isinstance(recorded, dict)
    file = found(SourceFinder(recorded=recorded))
    assert (file.path, file.lines, file.sha256) == (None, expected.lines, expected.sha256)


def test_only_the_hash_is_kept_without_embedding_and_shows_a_change(tmp_path: Path) -> None:
    path = put(tmp_path / "kernel.cu")
    record_sources(tmp_path, [COMPILED], "path", finder_with(tmp_path))
    recorded = read_recorded_sources(tmp_path)
    assert isinstance(recorded, dict)
    assert recorded[COMPILED].text is None
    assert recorded[COMPILED].sha256 == hashlib.sha256(TEXT.encode()).hexdigest()
    assert found(finder_with(tmp_path, recorded=recorded, check=True)).changed is None
    path.write_text("other\n")
    assert found(finder_with(tmp_path, recorded=recorded, check=True)).changed == (
        f"{path} has changed since it was recorded"
    )
    assert found(finder_with(tmp_path, recorded=recorded)).changed is None


def test_nothing_is_written_when_sources_are_not_wanted(tmp_path: Path) -> None:
    put(tmp_path / "kernel.cu")
    record_sources(tmp_path, [COMPILED], "none", finder_with(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["kernel.cu"]
    assert read_recorded_sources(tmp_path) == {}


def test_files_that_cannot_be_kept_are_told_and_the_rest_is_kept(tmp_path: Path) -> None:
    put(tmp_path / "kernel.cu")
    problems = record_sources(tmp_path, [COMPILED, "/none/x.cu"], "embed", finder_with(tmp_path))
    assert len(problems) == 1
    assert "/none/x.cu" in problems[0]
    assert set(read_recorded_sources(tmp_path)) == {COMPILED}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("compiled", "changed"),
    [
        (LineFile(COMPILED), False),
        (LineFile(COMPILED, size=len(TEXT)), False),
        (LineFile(COMPILED, size=len(TEXT) + 1), True),
        (LineFile(COMPILED, time=2_000_000_000), False),
        (LineFile(COMPILED, time=1_000_000_000), True),
        (LineFile(COMPILED, md5=hashlib.md5(TEXT.encode()).hexdigest()), False),
        (LineFile(COMPILED, md5="0" * 32), True),
    ],
)
def test_what_the_line_table_says_of_its_files_shows_a_change(
    compiled: LineFile, changed: bool, tmp_path: Path
) -> None:
    os.utime(put(tmp_path / "kernel.cu"), (1_500_000_000, 1_500_000_000))
    finder = finder_with(tmp_path, compiled={COMPILED: compiled}, check=True)
    assert (found(finder).changed is not None) == changed


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "is damaged"),
        (b"\xff\xfe", "is damaged"),
        (b'{"format":"other","version":1,"files":{}}', "is damaged"),
        (b'{"format":"cuvein sources","version":2,"files":{}}', "newer version"),
    ],
)
def test_a_bad_record_of_sources_is_a_reason(content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "sources.json").write_bytes(content)
    assert says in str(read_recorded_sources(tmp_path))


def test_a_file_with_the_recorded_hash_is_not_told_by_its_time(tmp_path: Path) -> None:
    path = put(tmp_path / "kernel.cu")
    record_sources(tmp_path, [COMPILED], "path", finder_with(tmp_path))
    recorded = read_recorded_sources(tmp_path)
    assert isinstance(recorded, dict)
    old = {COMPILED: LineFile(COMPILED, time=1)}
    assert "newer" in str(found(finder_with(tmp_path, compiled=old, check=True)).changed)
    assert found(finder_with(tmp_path, recorded=recorded, compiled=old, check=True)).changed is None
    path.write_text("other")
    changed = found(finder_with(tmp_path, recorded=recorded, compiled=old, check=True)).changed
    assert "since it was recorded" in str(changed)
