"""Each benchmark tells what it does where it cannot do it, and measures nothing then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
SCRIPTS = sorted(path.name for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text())


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_needs_nothing_and_measures_nothing(name, tmp_path):
    told = subprocess.run(
        [sys.executable, BENCHMARKS / name, "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        # Without a GPU, a compiler and a browser a measurement would end here.
        env={"PATH": str(tmp_path), "TMPDIR": str(tmp_path)},
    )
    assert told.stdout.startswith(f"usage: {name}")
    assert not told.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["launches", "kernel_times", "barrier_order", "call_sites", "operators"])
def test_what_is_missing_is_said_in_a_sentence(name, tmp_path):
    words = ["softmax"] if name == "operators" else []
    told = subprocess.run(
        [sys.executable, BENCHMARKS / f"{name}.py", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PATH": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""},
    )
    assert told.returncode == 2
    assert told.stderr.startswith(f"{name}: ")
    assert "Traceback" not in told.stderr
