"""Numba: which arrays its allocations are; it takes one for each."""

from __future__ import annotations

from typing import Any

from .arrays import Facts, of_process

__all__ = ["watch"]


def watch(module: Any) -> None:
    """Tell the monitor of arrays on the device from now on; ``module`` is where Numba defines them."""
    _, arrays = of_process()
    arrays.know(module.DeviceNDArray, _facts)


def _facts(array: Any) -> Facts:
    # A plain number in some versions, a number of ctypes in others.
    pointer = array.device_ctypes_pointer
    address = int(getattr(pointer, "value", pointer) or 0)
    return Facts(address, array.alloc_size, str(array.dtype), tuple(array.shape), alone=True)
