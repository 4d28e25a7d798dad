"""Numba's arrays on the device, on memory that is not there."""

from __future__ import annotations

import ctypes
import math


class DeviceNDArray:
    def __init__(self, shape: tuple[int, ...], address: int) -> None:
        self.shape, self.dtype = shape, "float32"
        self.alloc_size = 4 * math.prod(shape)
        self.device_ctypes_pointer = ctypes.c_uint64(address)
