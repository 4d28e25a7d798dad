"""Signals reach the launched program as without cuvein."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from stand_ins.launcher import PROGRAM_WITH_CUDA, Cuvein, started

if TYPE_CHECKING:
    from pathlib import Path

COUNTING = (
    "import os, pathlib, signal, sys, time\n"
    "seen = []\n"
    "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):\n"
    "    signal.signal(number, lambda n, f: seen.append(n))\n"
    "pathlib.Path('ready').touch()\n"
    "end = time.monotonic() + 20\n"
    "while not seen and time.monotonic() < end: time.sleep(0.02)\n"
    "time.sleep(0.5)\n"
    "pathlib.Path('seen').write_text(repr([int(n) for n in seen]))\n"
    "sys.exit(7)\n"
)


def held_open(pipe: Path, seconds: float = 30) -> int:
    """Open a pipe when cuvein reads it, which waits as long as it is open."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(OSError):  # nobody reads it yet
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.02)
    pytest.fail("cuvein did not read the profile")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signal_to_cuvein_reaches_the_program_once(cuvein: Cuvein, number: signal.Signals) -> None:
    command = cuvein.arguments("run", "--", *cuvein.program(COUNTING))
    process = subprocess.Popen(command, cwd=cuvein.folder, env=cuvein.environment, stderr=subprocess.PIPE)
    started(cuvein.folder)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert (cuvein.folder / "seen").read_text() == repr([int(number)])
    assert process.returncode == 7


def test_control_c_reaches_the_program_once_and_cuvein_waits(cuvein: Cuvein) -> None:
    command = list(map(os.fsencode, cuvein.arguments("run", "--", *cuvein.program(COUNTING))))
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cuvein.folder)
        os.execve(sys.executable, command, cuvein.environment)
    started(cuvein.folder)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert (cuvein.folder / "seen").read_text() == repr([int(signal.SIGINT)])
    assert os.waitstatus_to_exitcode(status) == 7


@pytest.mark.parametrize("words", [["run"], ["run", "--launch-skip=+0"]], ids=["plain", "with the library"])
def test_control_c_after_the_program_has_ended_ends_cuvein_with_no_traceback(
    cuvein: Cuvein, words: list[str]
) -> None:
    text = (
        f"import os, pathlib\n{PROGRAM_WITH_CUDA}"
        "profile = next(pathlib.Path('out').glob('process-*/launch-*'))\n"
        "profile.unlink(); os.mkfifo(profile); pathlib.Path('ready').touch()\n"
    )
    environment = {**cuvein.environment, "SCENARIO": json.dumps({"profiles": [None], "finished": False})}
    command = cuvein.arguments(*words, "-o", "out", "--", *cuvein.program(text))
    process = subprocess.Popen(command, cwd=cuvein.folder, env=environment, stderr=subprocess.PIPE)
    started(cuvein.folder)
    pipe = held_open(next(cuvein.folder.glob("out/process-*/launch-*")))
    process.send_signal(signal.SIGINT)
    # Python may have been about to read, and would act on the signal when that is done.
    os.close(pipe)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said == b""


def test_no_thread_of_cuvein_takes_a_signal_meant_for_the_program(cuvein: Cuvein) -> None:
    text = (
        "import os, pathlib\n"
        "tasks = pathlib.Path(f'/proc/{os.getppid()}/task')\n"
        "for task in tasks.iterdir():\n"
        "    if int(task.name) != os.getppid():\n"
        "        print((task / 'status').read_text().partition('SigBlk:')[2].split()[0])\n"
    )
    blocked = [int(mask, 16) for mask in cuvein.run("run", "--", *cuvein.program(text)).stdout.split()]
    wanted = sum(1 << number - 1 for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    assert all(mask & wanted == wanted for mask in blocked)
