"""On what a result was measured, the header of each file in ``benchmarks/results``; how these are kept."""

from __future__ import annotations

import datetime
import functools
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from command_line import give_up
from cuvein.profile.writing import replace_file

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "gpu"))

from harness import build, device, examples, session  # noqa: E402

# The harness of the GPU tests finds compiler and GPU and runs programs under cuvein.
__all__ = [
    "ROOT",
    "Machine",
    "build",
    "demand_gpu",
    "describe",
    "device",
    "examples",
    "keep",
    "session",
]


class Machine(TypedDict):
    """Date, machine, software. What the machine does not have is ``None``.

    ``date`` is UTC. ``driver`` is the kernel driver's version, ``cuda`` the CUDA version it supports.
    ``commit`` is the checked-out one, with ``-dirty`` behind it when files differ from it; where there is no
    repository, ``$CUVEIN_COMMIT``. ``versions`` has ``cuvein``, ``python``, ``torch``, ``triton``, ``nvcc``
    and ``ncu``.
    """

    date: str
    commit: str | None
    gpu: str | None
    architecture: str | None
    driver: str | None
    cuda: str | None
    cpu: str
    processors: int
    versions: dict[str, str | None]


def describe() -> Machine:
    """Describe the machine this runs on; without a GPU, too."""
    gpu = device.find()
    found = None if isinstance(gpu, str) else gpu
    return Machine(
        date=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        commit=_commit(),
        gpu=found.name if found else None,
        architecture=found.architecture if found else None,
        driver=(_driver() or found.driver) if found else None,
        cuda=found.cuda if found else None,
        cpu=_cpu(),
        processors=len(os.sched_getaffinity(0)),
        versions={
            "cuvein": _package("cuvein"),
            "python": platform.python_version(),
            "torch": _package("torch"),
            "triton": _package("triton"),
            "nvcc": _version_of(build.nvcc(), r"\bV(\d+(?:\.\d+)+)"),
            "ncu": _version_of(shutil.which("ncu"), r"Version (\d+(?:\.\d+)+)"),
        },
    )


def keep(document: Mapping[str, object], file: Path | None) -> None:
    """Write a result as JSON, where it is wanted.

    The file is whole at any moment, since a benchmark that keeps what it has may be cut off.

    Parameters
    ----------
    document
        The result.
    file
        Where to; its folder is made. ``None``: nowhere.

    Raises
    ------
    ProfileWriteError
        It cannot be written.
    """
    if file is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(f"{json.dumps(document, indent=1)}\n".encode(), file)


def demand_gpu(parser: argparse.ArgumentParser, *, compiler: bool = True) -> device.Gpu:
    """Return the GPU; end the program where there is none, or no nvcc although a compiler is needed."""
    gpu = device.find()
    if isinstance(gpu, str):
        give_up(parser, gpu)
    if compiler and build.nvcc() is None:
        give_up(parser, "no nvcc: it comes with a CUDA toolkit, and with the wheel nvidia-cuda-nvcc")
    return gpu


@functools.cache
def _commit() -> str | None:
    # A tree that was copied without its repository may lie inside another one.
    if (ROOT / ".git").exists() and (text := _output("git", "-C", str(ROOT), "describe", *_DESCRIBE)):
        return text
    return os.environ.get("CUVEIN_COMMIT") or None


_DESCRIBE = ("--always", "--abbrev=12", "--dirty", "--exclude=*")


def _cpu() -> str:
    try:
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        match = None
    return match[1].strip() if match else platform.machine()


def _driver() -> str | None:
    first = _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").split("\n")[0]
    return first if re.fullmatch(r"\d+(\.\d+)+", first) else None


def _package(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _version_of(program: str | None, pattern: str) -> str | None:
    match = re.search(pattern, _output(program, "--version")) if program else None
    return match[1] if match else None


# Asking a driver takes a second, and a benchmark that keeps what it has writes this header after every step.
@functools.cache
def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
