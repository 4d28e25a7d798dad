"""The example of ``cuvein demo``: its program, built where that is possible, and its recording."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from cuvein.collect.doctor import probe
from cuvein.collect.errors import CuveinError, Status

__all__ = ["ARGUMENTS", "build", "obstacle", "recording"]

NAME = "softmax"
ARGUMENTS = ("64", "1024")
_PACKAGE = Path(__file__).resolve().parent.parent
_SOURCE = _PACKAGE.parent.parent / "examples" / f"{NAME}.cu"


def obstacle() -> str | None:
    """Say why the example cannot be profiled live, or ``None`` when it can."""
    answer = probe()
    if answer.error is not None:
        return answer.error
    if not answer.gpus:
        return "there is no GPU"
    if not _SOURCE.exists():
        return "the source of the example comes with the repository only"
    if _compiler() is None:
        return "there is no nvcc to build the example with"
    return None


def build(folder: Path) -> Path:
    """Compile the example; returns the program.

    Raises
    ------
    CuveinError
        The compiler refuses.
    """
    program = folder / NAME
    command = [str(_compiler()), "-O3", "-lineinfo", "-arch=native", str(_SOURCE), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise CuveinError(
            Status.CANNOT_PROFILE,
            f"the example does not compile: {said[-1] if said else 'nvcc gives no reason'}",
        )
    return program


def recording() -> Path:
    """Path of the recording that comes with cuvein.

    Raises
    ------
    CuveinError
        It is not there.
    """
    path = _PACKAGE / "demo" / f"{NAME}.cvt"
    if not path.exists():
        raise CuveinError(
            Status.UNREADABLE_INPUT,
            f"the recording of the example, {path}, is missing from this installation; "
            "on a machine with a GPU run the demo from the repository",
        )
    return path


def _compiler() -> Path | None:
    on_path = shutil.which("nvcc")
    if on_path:
        return Path(on_path)
    spec = find_spec("nvidia")
    roots = [Path(root) for root in (spec.submodule_search_locations or [])] if spec else []
    found = sorted(nvcc for root in roots for nvcc in root.glob("cu[0-9]*/bin/nvcc"))
    return found[-1] if found else None
