"""What runs inside the profiled program when call sites are asked for and it is written in Python.

It tells the monitor which arrays PyTorch, CuPy and Numba keep in their allocations. It is loaded by the
program's own Python, of whatever version, under a name of its own, and imports nothing of cuvein.
"""

from __future__ import annotations

__all__ = ["start"]


def start() -> None:
    """Wait for the program to import PyTorch, CuPy or Numba's arrays; do nothing until then."""
    from .imports import after_import  # noqa: PLC0415

    after_import({"torch": _torch, "cupy": _cupy, "numba.cuda.cudadrv.devicearray": _numba})


def _torch(module: object) -> None:
    from .for_torch import watch  # noqa: PLC0415

    watch(module)


def _cupy(module: object) -> None:
    from .for_cupy import watch  # noqa: PLC0415

    watch(module)


def _numba(module: object) -> None:
    from .for_numba import watch  # noqa: PLC0415

    watch(module)
