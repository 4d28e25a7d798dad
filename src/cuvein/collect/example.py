"""The example of ``cuvein demo``: its program, built where that is possible, and its recording."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from cuvein.collect import installation
from cuvein.collect.doctor import probe
from cuvein.collect.errors import CuveinError, Status

__all__ = ["ARGUMENTS", "NAME", "build", "obstacle", "recording"]

NAME = "softmax"
ARGUMENTS = ("64", "1024")
_PACKAGE = Path(__file__).resolve().parent.parent
_REPOSITORY = _PACKAGE.parent.parent
_SOURCE = Path("examples") / f"{NAME}.cu"


def obstacle() -> str | None:
    """Say why the example cannot be profiled live, or ``None`` when it can."""
    answer = probe()
    if answer.error is not None:
        return answer.error
    if not answer.gpus:
        return "there is no GPU"
    if not (_REPOSITORY / _SOURCE).exists():
        return "the source of the example comes with the repository only"
    if _compiler() is None:
        return "there is no nvcc to build the example with"
    return None


def build(folder: Path) -> Path:
    """Compile the example for the first GPU; returns the program.

    Raises
    ------
    CuveinError
        The compiler refuses.
    """
    program = (folder / NAME).absolute()
    major, minor = probe().gpus[0].compute_capability
    flags = ["-std=c++17", "-O3", "-lineinfo", f"-arch=sm_{major}{minor}", "-Iexamples"]
    # The line tables hold the path that the compiler is given.
    command = [str(_compiler()), *flags, "-o", str(program), str(_SOURCE), "-ldl"]
    done = subprocess.run(command, cwd=_REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
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
    for folder in installation.nvidia_folders():
        # The wheel is of use only with its headers beside it.
        nvcc = folder / "bin" / "nvcc"
        if nvcc.exists() and (folder / "include" / "cuda_runtime.h").exists():
            return nvcc
    found = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    return Path(found) if found else None
