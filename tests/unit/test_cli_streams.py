"""The command line where standard streams are closed, full, narrow in characters, or interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from cuvein.collect import output, process, replay
from cuvein.collect.configuration import MOST_WORKERS
from cuvein.profile import ProfileWriteError
from cuvein.trace import Recorder, TraceWriter, make_launch, make_process

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "\x1b[31m[red]\u202e\n\u00e9\u6f22\U0001f600</k>"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "run.cvt"
    with TraceWriter(path, msgspec.json.encode(make_process())) as writer:
        for sequence in (1, 2):
            launch = make_launch(sequence)
            kernel = msgspec.structs.replace(launch.kernel, name=HOSTILE)
            writer.begin(msgspec.json.encode(msgspec.structs.replace(launch, kernel=kernel)))
            recorder = Recorder(sequence)
            recorder.affine(0x100, 0x10000, stride=4, size=4)
            recorder.launch_end()
            writer.records(recorder.data)
            writer.end(sequence, None)
    return path


def cuvein(words: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"'{sys.executable}' -m cuvein {words}"],
        capture_output=True,
        cwd=folder,
        env={**os.environ, **variables},
        check=False,
        timeout=60,
        encoding="utf-8",
        errors="replace",
    )


@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        ("schema > /dev/full", 124, "no space left"),
        ("--help > /dev/full", 124, "no space left"),
        ("schema >&-", 124, "standard output is closed"),
        ("trace info run.cvt >&-", 124, "standard output is closed"),
        ("schema | true", 141, None),
        ("doctor > /dev/full", 124, "no space left"),
        ("doctor | true", 141, None),
        ("--help | true", 141, None),
        ("run --help | true", 141, None),
        ("--version | true", 141, None),
    ],
)
def test_output_that_cannot_be_written_is_told(
    trace: Path, words: str, status: int, sentence: str | None, buffered: str
) -> None:
    done = cuvein(words, trace.parent, PYTHONUNBUFFERED=buffered)
    assert done.returncode == status
    assert len(done.stderr.splitlines()) == (1 if sentence else 0), done.stderr
    assert (sentence or "") in done.stderr


@pytest.mark.parametrize("words", ["trace info run.cvt", "run --help"])
def test_output_without_unicode_shows_question_marks(trace: Path, words: str) -> None:
    done = cuvein(words, trace.parent, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout


def test_trace_that_is_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = cuvein("analyze pipe", tmp_path)
    assert (done.returncode, done.stderr) == (
        123,
        "cuvein: error: cannot read pipe: it is not a regular file\n",
    )


@pytest.mark.parametrize("words", ["check {}", "open {}"])
def test_name_that_no_file_can_have_is_123(tmp_path: Path, words: str) -> None:
    done = cuvein(words.format("n" * 5000), tmp_path)
    assert done.returncode == 123
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", ["analyze run.cvt", "run -- true"])
def test_more_workers_than_are_of_use_are_refused(words: str, trace: Path) -> None:
    command, rest = words.split(" ", 1)
    done = cuvein(f"{command} --workers {MOST_WORKERS + 1} {rest}", trace.parent)
    assert done.returncode == 2
    said = " ".join(done.stderr.replace("│", "").split())
    assert f"give at most {MOST_WORKERS}, or 0 for one a processor" in said


@pytest.mark.parametrize("module", ["cuvein.cli.application", "cuvein.cli.report", "cuvein.findings"])
def test_interrupt_while_loading_leaves_no_traceback(module: str) -> None:
    code = (
        "import os, signal, sys, cuvein.cli\n"
        # A shell that starts the tests in the background has them ignore the signal.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == '{module}': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "sys.argv[1:] = ['report', 'absent']\n"
        "cuvein.cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_signal_that_comes_as_the_program_ends_is_no_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = os.waitpid

    def late(pid: int, options: int) -> tuple[int, int]:
        ended = wait(pid, options)
        if ended[0]:
            signal.raise_signal(signal.SIGINT)
        return ended

    monkeypatch.setattr(os, "waitpid", late)
    assert process.run("/bin/sh", ["sh", "-c", "exit 5"], dict(os.environb)).status == 5


def test_folder_that_a_full_disk_cut_short_can_be_replaced(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = replay.write

    def full(profile: object, path: Path) -> None:
        if path.name == "launch-000002.json":
            raise ProfileWriteError("no room")
        whole(profile, path)  # type: ignore[arg-type]

    monkeypatch.setattr(replay, "write", full)
    folder = output.make(tmp_path / "out", replace=False)
    with pytest.raises(ProfileWriteError):
        replay.replay(trace, folder)
    assert [file.name for file in folder.rglob("launch-*")] == ["launch-000001.json"]
    output.make(folder, replace=True)
    assert not list(folder.iterdir())
