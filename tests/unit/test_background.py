"""Profiles are written in the background; here is what does it (``native/monitor/background.h``)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_tasks_are_done_once_and_waited_for(tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler (c++) to compile the test with")
    program = tmp_path / "program"
    sources = [ROOT / "tests" / "emulation" / "background_tasks.cpp", ROOT / "native/monitor/background.cpp"]
    command = [compiler, "-std=c++17", "-O1", "-pthread", f"-I{ROOT / 'native'}", *sources, "-o", program]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
