"""What GPU there is, asked of the driver without starting a context."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_DRIVER_VERSION = Path("/proc/driver/nvidia/version")


@dataclass(frozen=True)
class Gpu:
    """The first GPU: name, compute capability as in ``sm_90``, versions of the driver."""

    name: str
    architecture: str
    driver: str | None
    cuda: str


@cache
def find() -> Gpu | str:
    """Return the GPU, or the reason why there is none, as a sentence without a full stop."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no NVIDIA driver (libcuda.so.1) on this machine"
    status = driver.cuInit(0)
    if status:
        return f"the NVIDIA driver finds no GPU (cuInit: {status})"
    version, device = ctypes.c_int(), ctypes.c_int()
    major, minor = ctypes.c_int(), ctypes.c_int()
    name = ctypes.create_string_buffer(256)
    driver.cuDriverGetVersion(ctypes.byref(version))
    if driver.cuDeviceGet(ctypes.byref(device), 0):
        return "the NVIDIA driver finds no GPU"
    driver.cuDeviceGetName(name, len(name), device)
    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
    driver.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
    cuda = f"{version.value // 1000}.{version.value % 1000 // 10}"
    return Gpu(name.value.decode(), f"sm_{major.value}{minor.value}", _kernel_driver(), cuda)


def _kernel_driver() -> str | None:
    try:
        match = re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", _DRIVER_VERSION.read_text())
    except OSError:
        return None
    return match[1] if match else None
