"""The environment of the program: its own, plus what makes the CUDA driver load the monitor."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["INJECTIONS", "other_tools", "prepare"]

INJECTIONS = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")


def prepare(
    base: Mapping[bytes, bytes],
    monitor: Path,
    configuration: Path,
    launcher: int,
    *,
    python_path: Path | None = None,
) -> dict[bytes, bytes]:
    """Make the program's environment.

    Parameters
    ----------
    base
        Environment to start from.
    monitor
        Library that the driver loads.
    configuration
        File of :mod:`cuvein.collect.configuration`.
    launcher
        This process: the program is the child of it.
    python_path
        Folder that Python is to look in first, if any; see :mod:`cuvein.inprocess`.
    """
    variables = dict(base)
    for name in INJECTIONS:
        variables[os.fsencode(name)] = os.fsencode(monitor)
    variables[b"CUVEIN_CONFIG"] = os.fsencode(configuration)
    variables[b"CUVEIN_ROOT"] = str(launcher).encode()
    if python_path is not None:
        entries = [os.fsencode(python_path)]
        if variables.get(b"PYTHONPATH"):
            entries.append(variables[b"PYTHONPATH"])
        variables[b"PYTHONPATH"] = os.fsencode(os.pathsep).join(entries)
    return variables


def inherited() -> dict[bytes, bytes]:
    """Return the environment this process was given.

    Where the locale is ``C``, the interpreter sets ``LC_CTYPE`` before any Python code runs (PEP 538). The
    program must not see that, so the variable is taken back to what it was.
    """
    variables = dict(os.environb)
    try:
        entries = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return variables
    given = next((entry[9:] for entry in entries if entry.startswith(b"LC_CTYPE=")), None)
    if variables.get(b"LC_CTYPE") in (b"C.UTF-8", b"C.utf8", b"UTF-8"):
        if given is None:
            del variables[b"LC_CTYPE"]
        else:
            variables[b"LC_CTYPE"] = given
    return variables


def other_tools(variables: Mapping[str, str], monitor: Path) -> list[str]:
    """Sentences about settings that bring other tools into the program."""
    sentences = []
    for name in INJECTIONS:
        value = variables.get(name)
        if value and Path(value) != monitor:
            sentences.append(
                f"{name} is set to {value}; cuvein replaces it for this run, so that tool will not be loaded"
            )
    preloaded = variables.get("LD_PRELOAD")
    if preloaded:
        sentences.append(
            f"LD_PRELOAD is set to {preloaded} and stays in force; unset it if the program misbehaves"
        )
    return sentences
