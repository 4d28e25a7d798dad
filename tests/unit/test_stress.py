"""The stress of the GPU tests keeps what it has done; what it does needs a GPU."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

GPU_TESTS = Path(__file__).parents[1] / "gpu"


@pytest.fixture
def stress(monkeypatch, tmp_path):
    """Return a function that runs the stress, with programs that a function stands for."""
    monkeypatch.syspath_prepend(str(GPU_TESTS))
    import stress as script  # noqa: PLC0415

    monkeypatch.setattr(script.device, "find", lambda: SimpleNamespace(architecture="sm_90"))
    before = signal.getsignal(signal.SIGTERM)

    def run(one, *words):
        monkeypatch.setattr(script, "one", one)
        file = tmp_path / "stress.json"
        words = ("--keep", tmp_path / "kept", "--output", file, *words)
        monkeypatch.setattr(sys, "argv", ["stress.py", *map(str, words)])
        return script.main(), json.loads(file.read_text())

    yield run
    signal.signal(signal.SIGTERM, before)


def test_it_ends_when_told_to_and_keeps_what_it_has(stress, monkeypatch):
    monkeypatch.setenv("CUVEIN_COMMIT", "1234567")

    def one(seed, folder, runs, counts):
        folder.mkdir()
        counts["gpu as gpu"] += runs
        if seed == 12:
            os.kill(os.getpid(), signal.SIGTERM)
        if seed >= 12:
            time.sleep(1)  # another thread sees to the signal
        return []

    status, summary = stress(one, "--seed", 10, "--minutes", 1, "--workers", 1, "--runs", 2)
    assert status == 0
    assert summary.pop("minutes") < 0.5
    programs = summary["programs"]
    assert 3 <= programs < 30
    assert summary == {
        "first seed": 10,
        "workers": 1,
        "commit": "1234567",
        "programs": programs,
        "gpu as gpu": 2 * programs,
        "faults": 0,
    }


def test_programs_with_faults_are_kept(stress, tmp_path, capsys):
    def one(seed, folder, *_):
        folder.mkdir()
        (folder / "random_program.cu").write_text(f"// {seed}")
        if seed == 7:
            raise RuntimeError("it hangs")
        return [] if seed % 2 else ["not the graph"]

    status, summary = stress(one, "--seed", 6, "--minutes", 0.005, "--workers", 2)
    assert status == 1
    assert summary["faults"] == 1 + summary["programs"] // 2 + summary["programs"] % 2
    assert "seed 7: RuntimeError: it hangs" in capsys.readouterr().out
    assert (tmp_path / "kept" / "7" / "random_program.cu").read_text() == "// 7"
    assert not (tmp_path / "kept" / "9").exists()
