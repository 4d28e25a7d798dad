"""Profiles that have no file yet outlive the process (``native/monitor/journal.h``)."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cuvein.cli.paths import find_profiles
from cuvein.collect import journal, outcome
from cuvein.profile import encode
from cuvein.profile.errors import ProfileWriteError
from unit.profiles.maker import Maker

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
PROFILE = encode(Maker().profile())


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler (c++) to compile the test with")
    program = tmp_path_factory.mktemp("journal") / "program"
    sources = [
        ROOT / "tests" / "emulation" / "journal_keeps.cpp",
        ROOT / "native/monitor/journal.cpp",
        ROOT / "native/profile/write.cpp",
    ]
    command = [compiler, "-std=c++17", "-O1", "-pthread", f"-I{ROOT / 'native'}", *sources, "-o", program]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return program


def run(*command: Path | str, preexec_fn: Callable[[], None] | None = None) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, preexec_fn=preexec_fn
    )
    return f"{done.stdout}{done.returncode}"


def test_what_a_process_left_gets_its_files(keeper: Path, tmp_path: Path) -> None:
    assert run(keeper, tmp_path / "journal", PROFILE.decode()) == "done\n0"
    (tmp_path / "launch-000004.json").write_text("already there")
    assert journal.empty(tmp_path) == (1, None)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "launch-000002.json": PROFILE.decode() + 100000 * " ",
        "launch-000004.json": "already there",
    }
    assert journal.empty(tmp_path) == (0, None)


def test_room_is_used_again_by_many_threads(keeper: Path, tmp_path: Path) -> None:
    assert run(keeper, tmp_path / "journal", PROFILE.decode(), "many") == "done\n0"


def test_without_room_there_is_no_journal_and_no_signal(keeper: Path, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    assert run(keeper, tmp_path / "journal", PROFILE.decode(), preexec_fn=limit) == "no journal\n1"
    assert not list(tmp_path.iterdir())


def test_what_was_not_dropped_stays(keeper: Path, tmp_path: Path) -> None:
    assert run(keeper, tmp_path / "journal", PROFILE.decode(), "rest") == "done\n0"
    # Of the other nothing can be made.
    for written in (1, 0):
        left = f"1 launch in {tmp_path}/journal cannot be recovered, since that file is damaged"
        assert journal.empty(tmp_path) == (written, f"{left}; remove it to go on without.")
    assert {path.name for path in tmp_path.iterdir()} == {"journal", "launch-000007.json"}
    assert (tmp_path / "launch-000007.json").read_bytes() == PROFILE


def test_journal_of_another_version_is_left(tmp_path: Path) -> None:
    for magic in (b"cuvein journal 1", b"cuvein journal 3"):
        (tmp_path / "journal").write_bytes(struct.pack("<16sII", magic, 0, 0))
        with pytest.raises(ProfileWriteError, match="another version of cuvein"):
            journal.empty(tmp_path)
        assert (tmp_path / "journal").exists()


def test_journal_that_was_only_made_is_removed(tmp_path: Path) -> None:
    for data in (b"", bytes(10), bytes(1 << 20), struct.pack("<16sII", b"", 1024, 0) + bytes(1 << 20)):
        (tmp_path / "journal").write_bytes(data)
        assert journal.empty(tmp_path) == (0, None)
        assert not list(tmp_path.iterdir())


def test_file_that_is_no_journal_is_left_and_named(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    for data in (b"something else", bytes(24) + b"launches whose head is not on the disk"):
        file.write_bytes(data)
        written, left = journal.empty(tmp_path)
        assert written == 0
        assert left is not None
        assert left.startswith(f"{file} does not begin as a journal of cuvein does and was left as it is")
        assert file.read_bytes() == data


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"cuvein journal 2", "the launches"),
        (struct.pack("<16sII", b"cuvein journal 2", 1024, 0), "the launches"),
        (struct.pack("<16sII", b"cuvein journal 2", 1 << 31, 0) + bytes(100), "the launches"),
        (struct.pack("<16sIIQQII", b"cuvein journal 2", 1, 0, 1 << 40, 5, 1, 1), "1 launch"),
        (struct.pack("<16sIIQQII", b"cuvein journal 2", 1, 0, 0, 0, 1, 1), "1 launch"),
        (struct.pack("<16sIIQQII", b"cuvein journal 2", 1, 0, 0, 5, 1, 7), "1 launch"),
    ],
)
def test_damaged_journal_is_left_and_named(data: bytes, what: str, tmp_path: Path) -> None:
    (tmp_path / "journal").write_bytes(data)
    left = f"{what} in {tmp_path}/journal cannot be recovered, since that file is damaged"
    assert journal.empty(tmp_path) == (0, f"{left}; remove it to go on without.")
    assert (tmp_path / "journal").read_bytes() == data


def test_entries_that_claim_more_than_there_is_are_not_read_again_and_again(tmp_path: Path) -> None:
    size, entries = 16 << 20, 1 << 16
    with (tmp_path / "journal").open("wb") as file:
        file.write(struct.pack("<16sII", b"cuvein journal 2", entries, 0))
        file.write(struct.pack("<QQII", 0, size, 1, 1) * entries)
        file.truncate(size)
    # Each as it says would be a terabyte.
    assert f"{entries} launches in " in (journal.empty(tmp_path).left or "")


def packed(*profiles: bytes) -> bytes:
    """Return a journal with these, of the launches 1, 2 and so on."""
    head = struct.pack("<16sII", b"cuvein journal 2", len(profiles), 0)
    offset = len(head) + 24 * len(profiles)
    for number, profile in enumerate(profiles, 1):
        head += struct.pack("<QQII", offset, len(profile), number, 1)
        offset += len(profile)
    return head + b"".join(profiles)


def test_profile_of_which_parts_are_missing_gets_no_file(tmp_path: Path) -> None:
    for damaged in (
        bytes(300),
        b'{"format": "cuvein launch',
        b'{"format": "' + bytes(50) + b'"}',
        b'{"a": "\xff"}',
        b"{}",
        b"7",
        PROFILE.replace(b'"version":', b'"edition":'),
    ):
        (tmp_path / "journal").write_bytes(packed(damaged, PROFILE))
        written, left = journal.empty(tmp_path)
        assert written == 1
        assert left is not None
        assert left.startswith("1 launch in ")
        assert {path.name for path in tmp_path.iterdir()} == {"journal", "launch-000002.json"}
        (tmp_path / "launch-000002.json").unlink()


def test_journal_of_absurd_size_is_not_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "journal").open("wb") as file:
        file.write(packed(PROFILE))
        file.truncate(1 << 40)
    assert journal.empty(tmp_path) == (1, None)
    assert [path.name for path in tmp_path.iterdir()] == ["launch-000001.json"]


def test_what_is_no_file_is_left(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "journal")
    assert journal.empty(tmp_path) == (0, None)
    (tmp_path / "journal").unlink()
    (tmp_path / "journal").mkdir()
    assert journal.empty(tmp_path) == (0, None)
    assert (tmp_path / "journal").exists()


def test_journal_that_cannot_be_read_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "journal").write_bytes(packed(PROFILE))

    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(errno.EACCES, "not permitted", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        with pytest.raises(ProfileWriteError, match="journal cannot be read"):
            journal.empty(tmp_path)
    assert journal.empty(tmp_path) == (1, None)


def test_journal_that_cannot_be_removed_is_left(
    keeper: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(keeper, tmp_path / "journal", PROFILE.decode()) == "done\n0"

    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(errno.EPERM, "not permitted", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    assert journal.empty(tmp_path) == (2, None)
    assert journal.empty(tmp_path) == (0, None)


def describe_process(folder: Path, pid: int) -> None:
    document = {
        "format": "cuvein process",
        "version": 1,
        "process": {
            "id": "x",
            "pid": pid,
            "executable": "/app",
            "arguments": ["app"],
            "versions": {"cuvein": "0", "sanitizer": None, "driver": None},
        },
        "finished": False,
        "kernels_seen": [],
        "profiles": 0,
        "incomplete": 0,
        "problems": [],
        "host_engine": [],
        "trace": None,
    }
    (folder / "process.json").write_text(json.dumps(document))


def test_launches_of_what_still_runs_are_said_to_be_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    describe_process(tmp_path, os.getpid())
    (tmp_path / "journal").write_bytes(packed(PROFILE, PROFILE))
    (tmp_path / "launch-000001.json").write_text("already there")
    assert find_profiles([tmp_path]).profiles == [tmp_path / "launch-000001.json"]
    assert f"1 launch in {tmp_path}/journal left out" in " ".join(capsys.readouterr().err.split())
    describe_process(tmp_path, 4194305)
    assert len(find_profiles([tmp_path]).profiles) == 2
    assert "left out" not in capsys.readouterr().err


def test_a_run_that_was_killed_counts_them(keeper: Path, tmp_path: Path) -> None:
    folder = tmp_path / "process-4194305"  # more than the system gives out
    folder.mkdir()
    describe_process(folder, 4194305)
    assert run(keeper, folder / "journal", PROFILE.decode()) == "done\n0"
    found = outcome.read(tmp_path)
    assert [path.name for path in found.processes[0].profiles] == ["launch-000002.json", "launch-000004.json"]
    assert len(found.cut_off) == 1


@pytest.mark.parametrize("content", ["", "{", '{"format": "cuvein process", "version": 99}'])
def test_process_of_which_nothing_is_known_but_that_it_has_ended(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "process-4194305"
    folder.mkdir()
    (folder / "process.json").write_text(content)
    (folder / "journal").write_bytes(packed(PROFILE))
    found = outcome.read(tmp_path)
    assert [sentence for sentence in found.unreadable if "journal" in sentence] == []
    assert len(found.unreadable) == 1
    assert (folder / "launch-000001.json").read_bytes() == PROFILE
    (folder / "launch-000001.json").unlink()
    (folder / "journal").write_bytes(packed(PROFILE))
    assert find_profiles([tmp_path]).profiles == [folder / "launch-000001.json"]
    assert "1 profile that had no file yet written" in capsys.readouterr().err
    assert not (folder / "journal").exists()


def test_journal_without_process_is_said_to_be_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, why in (
        (tmp_path / "renamed", "it is not known whether their process has ended, since "),
        (tmp_path / f"process-{os.getpid()}", f"process {os.getpid()} still runs"),
    ):
        folder.mkdir()
        (folder / "process.json").write_text("{")
        (folder / "journal").write_bytes(packed(PROFILE, PROFILE))
        (folder / "launch-000001.json").write_text("{}")
        found = find_profiles([folder])
        assert found.profiles == [folder / "launch-000001.json"]
        assert found.some_left_out
        assert f"1 launch in {folder}/journal left out: {why}" in capsys.readouterr().err
        assert (folder / "journal").exists()


def test_folder_that_cannot_be_read_is_said_to_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    open_folder, closed = tmp_path / "process-4194304", tmp_path / "process-4194305"
    for folder in (open_folder, closed):
        folder.mkdir()
        (folder / "launch-000001.json").write_text("{}")
    scandir = os.scandir

    def refuse(path: str | Path) -> object:
        # Permissions do not stop whoever runs the tests as root.
        if Path(path) == closed:
            raise PermissionError(errno.EACCES, "Not permitted", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = find_profiles([tmp_path])
    assert open_folder / "launch-000001.json" in found.profiles
    assert found.some_left_out
    assert capsys.readouterr().err == (
        f"cuvein: warning: {closed} cannot be read: not permitted; profiles in it are left out.\n"
    )


def test_another_file_of_that_name_is_none_of_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "launch-000001.json").write_text("{}")
    (tmp_path / "journal").write_text("Dear diary")
    assert not find_profiles([tmp_path]).some_left_out
    assert capsys.readouterr().err == ""
    assert (tmp_path / "journal").read_text() == "Dear diary"


def test_what_is_left_in_a_journal_is_said_once_a_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    describe_process(tmp_path, 4194305)
    (tmp_path / "journal").write_text("Dear diary")
    (tmp_path / "launch-000001.json").write_text("{}")
    found = find_profiles([tmp_path])
    assert found.some_left_out
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"cuvein: warning: {tmp_path}/journal does not begin as a journal of cuvein does")
    assert (tmp_path / "journal").read_text() == "Dear diary"


def test_run_tells_of_what_is_left_in_a_journal(tmp_path: Path) -> None:
    folder = tmp_path / "process-4194305"
    folder.mkdir()
    describe_process(folder, 4194305)
    (folder / "journal").write_bytes(packed(PROFILE, b"{"))
    found = outcome.read(tmp_path)
    assert found.profiles == 1
    (sentence,) = found.unreadable
    assert sentence.startswith(f"1 launch in {folder}/journal cannot be recovered")
