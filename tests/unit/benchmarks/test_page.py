"""The benchmark of the browser report, as far as it goes without a browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "page.py"


def test_help_measures_nothing(tmp_path):
    told = subprocess.run(
        [sys.executable, BENCHMARK, "--help"],
        capture_output=True,
        text=True,
        check=True,
        # Without a browser a measurement would end here.
        env={"PATH": str(tmp_path)},
    )
    assert told.stdout.startswith("usage: page.py")
    assert "First view" in told.stdout
