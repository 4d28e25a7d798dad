"""Writing profiles: all or nothing."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import msgspec
import pytest

from cuvein.profile import ProfileWriteError, encode, read, write
from reference.sample import PROFILE

if TYPE_CHECKING:
    from pathlib import Path


def test_the_document_is_one_line_that_ends(tmp_path: Path) -> None:
    write(PROFILE, tmp_path / "p.json")
    data = (tmp_path / "p.json").read_bytes()
    assert data == encode(PROFILE)
    assert data.count(b"\n") == 1
    assert data.endswith(b"}\n")


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.json"
    write(PROFILE, path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ProfileWriteError, match=r"p\.json cannot be written: no space left on device"):
        write(msgspec.structs.replace(PROFILE, id="other"), path)
    assert [file.name for file in tmp_path.iterdir()] == ["p.json"]
    assert read(path) == PROFILE


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProfileWriteError, match="cannot be written: no such file or directory"):
        write(PROFILE, tmp_path / "absent" / "p.json")


def test_files_get_the_usual_permissions(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write(PROFILE, tmp_path / "p.json")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "p.json").stat().st_mode) == 0o640
