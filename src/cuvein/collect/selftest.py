"""The live self-test: profile a kernel of known behaviour and compare."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from cuvein.collect import kernel
from cuvein.collect.finding import Finding, Severity
from cuvein.profile.errors import ProfileReadError
from cuvein.profile.reading import read_all

if TYPE_CHECKING:
    from cuvein.profile.model import LaunchProfile

__all__ = ["compare", "run"]

_SUBJECT = "self-test"
_SECONDS = 180


def run() -> Finding:
    """Run :mod:`cuvein.collect.kernel` under the monitor in a process of its own, and check its profile."""
    program = [sys.executable, "-m", kernel.__name__]
    with tempfile.TemporaryDirectory(prefix="cuvein-") as folder:
        output = Path(folder) / "profiles"
        command = [sys.executable, "-m", "cuvein", "run", "--output", str(output), "--", *program]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return Finding(_SUBJECT, Severity.PROBLEM, f"the kernel did not end within {_SECONDS} seconds")
        if done.returncode != 0:
            said = " / ".join(done.stderr.strip().splitlines()[-5:])
            return Finding(_SUBJECT, Severity.PROBLEM, f"it ended with status {done.returncode}: {said}")
        try:
            profiles = list(read_all(output))
        except ProfileReadError as error:
            return Finding(_SUBJECT, Severity.PROBLEM, str(error))
    return compare(profiles)


def compare(profiles: list[LaunchProfile]) -> Finding:
    """Compare the profile of the kernel with what it does."""
    found = [profile for profile in profiles if profile.launch.kernel.name == kernel.NAME]
    if len(found) != 1:
        return Finding(_SUBJECT, Severity.PROBLEM, f"{len(found)} profiles of its one launch were written")
    labels: Counter[str] = Counter()
    for edge in found[0].edges:
        labels[edge.label] += edge.bytes
    if dict(labels) != kernel.EXPECTED:
        return Finding(
            _SUBJECT,
            Severity.PROBLEM,
            f"the profile holds {_bytes(dict(labels))}, the kernel does {_bytes(kernel.EXPECTED)}",
            "report this, with the output of cuvein doctor",
        )
    return Finding(_SUBJECT, Severity.OK, f"a kernel was profiled, as it must be: {_bytes(kernel.EXPECTED)}")


def _bytes(labels: dict[str, int]) -> str:
    return ", ".join(f"{label} {size} B" for label, size in labels.items()) or "no access"
