"""Running commands as the documentation shows them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["cuvein"]


def cuvein(folder: Path, *words: str) -> str:
    """Run cuvein in a folder, as on a terminal of 100 columns without colours; returns what it prints."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-m", "cuvein", *words],
        capture_output=True,
        encoding="utf-8",
        env=environment,
        cwd=folder,
        check=True,
        timeout=120,
    )
    return done.stdout
