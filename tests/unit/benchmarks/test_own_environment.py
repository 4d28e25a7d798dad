"""The environment that cuvein is timed in has cuvein and what it needs, and nothing else."""

from __future__ import annotations

import subprocess
from importlib.metadata import version

import own_environment


def test_cuvein_runs_there_and_what_it_does_not_need_is_not_there(tmp_path):
    python = own_environment.make(tmp_path / "environment")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([python, *words], capture_output=True, text=True, check=False, env={})

    told = run("-m", "cuvein", "--version")
    assert (told.returncode, told.stdout) == (0, f"cuvein {version('cuvein')}\n"), told.stderr
    assert run("-c", "import cuvein.collect.outcome").returncode == 0
    assert "pytest" in run("-c", "import pytest").stderr
