"""``cuvein demo`` where there is no GPU, with a recording made here in place of the real one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from cuvein.trace import Recorder, TraceWriter, make_launch, make_process

ROOT = Path(__file__).parents[2]


def demo(folder: Path, recording: Path) -> subprocess.CompletedProcess[str]:
    code = (
        "import pathlib, sys; from cuvein.collect import example;"
        "example.obstacle = lambda: 'there is no GPU';"
        f"example._PACKAGE = pathlib.Path({str(recording.parent.parent)!r});"
        "from cuvein.cli import main; sys.argv[0] = 'cuvein'; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code, "demo", "--output", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "COLUMNS": "100"},
    )


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "package" / "demo" / "softmax.cvt"
    path.parent.mkdir(parents=True)
    recorder = Recorder(1)
    recorder.affine(0x100, 0x7F0000000000, stride=4, size=4)
    recorder.affine(0x140, 0x7F0000000000, stride=4, size=4)
    recorder.launch_end()
    with TraceWriter(path, msgspec.json.encode(make_process())) as writer:
        writer.begin(msgspec.json.encode(make_launch(1, name="softmax(float*)")))
        writer.records(recorder.data)
        writer.end(1)
    return path


def test_recording_is_replayed_reported_and_left_in_the_folder(tmp_path: Path, recording: Path) -> None:
    for _ in range(2):  # a second demo replaces the first
        done = demo(tmp_path / "out", recording)
        assert done.returncode == 0, done.stderr
        assert "there is no GPU" in done.stderr
        assert "softmax(float*)" in done.stdout
        assert (tmp_path / "out" / "report.txt").read_text() == done.stdout
        assert (tmp_path / "out" / "softmax.cvt").read_bytes() == recording.read_bytes()
        assert len(list((tmp_path / "out" / "profiles").rglob("launch-*.json"))) == 1


@pytest.mark.parametrize("name", ["report.txt", "softmax.cvt", "softmax", "profiles/process-1/process.json"])
def test_what_is_not_of_a_demo_is_not_replaced(tmp_path: Path, recording: Path, name: str) -> None:
    file = tmp_path / "out" / name
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    done = demo(tmp_path / "out", recording)
    assert (done.returncode, done.stdout) == (124, "")
    assert "is there already and not of a demo" in done.stderr
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == [file]
    assert file.read_text() == "mine"


def test_missing_recording_is_a_sentence_and_leaves_nothing(tmp_path: Path, recording: Path) -> None:
    recording.unlink()
    done = demo(tmp_path / "out", recording)
    assert (done.returncode, done.stdout) == (123, "")
    assert "missing" in done.stderr
    assert not (tmp_path / "out").exists()


def test_unwritable_folder_is_124(tmp_path: Path, recording: Path) -> None:
    (tmp_path / "file").touch()
    assert demo(tmp_path / "file", recording).returncode == 124


@pytest.mark.parametrize("folder", ["cuvein-demo", "cuvein-softmax-1"])
def test_what_commands_write_into_a_checkout_by_default_is_not_committed(tmp_path: Path, folder: str) -> None:
    # A repository of its own, since the sources may be none.
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    asked = subprocess.run(["git", "check-ignore", "-q", f"{folder}/report.txt"], cwd=tmp_path, check=False)
    assert asked.returncode == 0
