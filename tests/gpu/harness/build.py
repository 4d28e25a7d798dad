"""Compiling the CUDA programs with whatever nvcc there is."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path

FLAGS = ("-std=c++17", "-O3", "-lineinfo")


@cache
def nvcc() -> str | None:
    """The compiler: ``$NVCC``, that of the wheel nvidia-cuda-nvcc, or a toolkit's."""
    if named := os.environ.get("NVCC"):
        return named
    spec = find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec else []:
        path = Path(root) / "cu13" / "bin" / "nvcc"
        # The wheel is of use only with its headers and libraries beside it.
        if path.exists() and (path.parent.parent / "include" / "cuda_runtime.h").exists():
            return str(path)
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def compile_one(source: Path, program: Path, include: Path, architecture: str, *options: str) -> Path:
    """Compile one source, with headers from ``include``.

    Raises
    ------
    RuntimeError
        When there is no compiler or the source does not compile.
    """
    compiler = nvcc()
    if compiler is None:
        raise RuntimeError("no nvcc")
    command = [compiler, *FLAGS, f"-arch={architecture}", f"-I{include}", "-o", str(program), str(source)]
    command += options
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return program


def compile_all(sources: list[str], root: Path, output: Path, architecture: str) -> dict[str, Path]:
    """Compile ``sources``, paths relative to ``root``, each to a program in ``output``.

    The compiler runs in ``root`` and is given relative paths, so these are what line tables hold. Of several
    processes that want the same programs, one compiles and the others wait.

    Returns
    -------
    dict of str to Path
        The programs by the name of their source without suffix.

    Raises
    ------
    RuntimeError
        When there is no compiler or a source does not compile; the text is the compiler's.
    """
    compiler = nvcc()
    if compiler is None:
        raise RuntimeError(
            "no nvcc: install nvidia-cuda-nvcc and nvidia-cuda-runtime, or put a toolkit on PATH"
        )
    output.mkdir(parents=True, exist_ok=True)
    # A program of the source's name would be mistaken for up to date after an edit of a header.
    header = max(path.stat().st_mtime for path in (root / "examples").rglob("*.h"))

    def build(source: str) -> tuple[str, Path]:
        program = output / Path(source).stem
        if program.exists() and program.stat().st_mtime > max(header, (root / source).stat().st_mtime):
            return program.name, program
        command = [
            compiler,
            *FLAGS,
            f"-arch={architecture}",
            "-Iexamples",
            "-o",
            str(program),
            source,
            "-ldl",
        ]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return program.name, program

    with (output / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            return dict(pool.map(build, sources))
