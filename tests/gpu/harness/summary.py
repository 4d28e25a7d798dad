"""A pytest plugin that writes the results as one JSON file, with all that is needed to place them."""

from __future__ import annotations

import datetime
import json
import math
import os
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import device

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[3]
FILE = "gpu-tests.json"
INTERVAL = 2.0  # seconds from one writing to the next


def commit() -> str | None:
    """Return the commit of the checkout, with ``+`` when files differ; else ``$CUVEIN_COMMIT``."""
    try:
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        changed = subprocess.run(
            ["git", "status", "--porcelain", "-uno"], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return os.environ.get("CUVEIN_COMMIT")
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def circumstances() -> dict[str, Any]:
    """Date, GPU, driver, commit and versions of what took part."""
    gpu = device.find()
    packages = ("cuvein", "nvidia-cuda-sanitizer-api", "torch", "triton", "cupy-cuda13x", "numba")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "gpu": None if isinstance(gpu, str) else gpu.name,
        "driver": None if isinstance(gpu, str) else gpu.driver,
        "cuda": None if isinstance(gpu, str) else gpu.cuda,
        "commit": commit(),
        "versions": {package: _version(package) for package in packages},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


class Summary:
    """Gathers the outcome of every test and writes it to ``folder``, as it comes: a run may be cut off."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start = time.monotonic()
        self.circumstances = circumstances()
        self.written = -math.inf
        self.tests: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst of setup, call and teardown."""
        entry = self.tests.setdefault(
            report.nodeid, {"test": report.nodeid, "outcome": "passed", "seconds": 0.0}
        )
        entry["seconds"] = round(entry["seconds"] + report.duration, 3)
        if report.outcome != "passed" and entry["outcome"] != "failed":
            entry["outcome"] = report.outcome
            entry["reason"] = _reason(report)
        if time.monotonic() >= self.written + INTERVAL:
            self.write(finished=False)

    def pytest_sessionfinish(self) -> None:
        """Write the whole of it."""
        self.write(finished=True)

    def write(self, *, finished: bool) -> None:
        """Write what there is so far."""
        tests = sorted(self.tests.values(), key=lambda entry: entry["test"])
        counts = {
            outcome: sum(test["outcome"] == outcome for test in tests)
            for outcome in ("passed", "failed", "skipped")
        }
        document = {
            "format": "cuvein gpu tests",
            "version": 1,
            **self.circumstances,
            "finished": finished,
            "seconds": round(time.monotonic() - self.start, 1),
            "counts": counts,
            "tests": tests,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        # A reader never sees half a file, whenever the run is cut off.
        part = self.folder / f".{FILE}.part"
        part.write_text(json.dumps(document, indent=1) + "\n")
        part.replace(self.folder / FILE)
        self.written = time.monotonic()


def _reason(report: pytest.TestReport) -> str:
    if report.outcome == "skipped" and isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")]
    return "\n".join(line[1:].strip() for line in lines[:12]) or str(report.longrepr)[-500:]
