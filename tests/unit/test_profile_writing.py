"""Writing profiles: all or nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import pytest

from cuvein.profile import ProfileWriteError, encode, read, write
from cuvein.profile.writing import replace_file
from reference.sample import PROFILE


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


def test_a_link_stays_one(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    write(PROFILE, link)
    assert link.is_symlink()
    assert read(target) == PROFILE


def test_a_full_device_is_told() -> None:
    # By its number, so that a mistake cannot replace the device of the machine.
    with (
        Path("/dev/full").open("wb") as device,
        pytest.raises(ProfileWriteError, match="cannot be written: no space left on device"),
    ):
        replace_file(b"x", Path(f"/dev/fd/{device.fileno()}"))


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        replace_file(b"through", pipe)
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_an_open_file_by_its_number_keeps_what_is_in_it(tmp_path: Path) -> None:
    """As ``--output /dev/stdout`` with ``>> log`` does; replacing would take /dev/stdout from everybody."""
    with (tmp_path / "log").open("w+", encoding="utf-8") as file:
        file.write("before ")
        file.flush()
        replace_file(b"after", Path(f"/dev/fd/{file.fileno()}"))
    assert (tmp_path / "log").read_text(encoding="utf-8") == "before after"
    assert [entry.name for entry in tmp_path.iterdir()] == ["log"]
