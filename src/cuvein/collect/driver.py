"""The CUDA driver, through ctypes: is it there, which version, which GPUs."""

from __future__ import annotations

import ctypes
import json
from typing import Any, NamedTuple

__all__ = ["Driver", "DriverError", "Gpu", "load", "misfit"]

LIBRARY = "libcuda.so.1"
_COMPUTE_CAPABILITY_MAJOR = 75
_COMPUTE_CAPABILITY_MINOR = 76
_NO_DEVICE = 100


class DriverError(Exception):
    """The driver is missing or refuses; the text is one sentence."""


class Gpu(NamedTuple):
    """One GPU: CUDA ordinal, marketing name, compute capability."""

    ordinal: int
    name: str
    compute_capability: tuple[int, int]


class Driver(NamedTuple):
    """The loaded driver library."""

    library: ctypes.CDLL

    def check(self, function: str, *arguments: object) -> None:
        """Call a function of the driver.

        Raises
        ------
        DriverError
            It does not return success.
        """
        try:
            status = getattr(self.library, function)(*arguments)
        except AttributeError:
            raise DriverError(f"the CUDA driver has no function {function}") from None
        if status != 0:
            raise DriverError(f"{function} of the CUDA driver failed: {self._describe(status)}")

    def version(self) -> tuple[int, int]:
        """Newest CUDA version the driver supports, e.g. ``(13, 0)``; works without a GPU."""
        number = ctypes.c_int()
        self.check("cuDriverGetVersion", ctypes.byref(number))
        return number.value // 1000, number.value % 1000 // 10

    def gpus(self) -> list[Gpu]:
        """GPUs this process may use; empty when there is none.

        Raises
        ------
        DriverError
            The driver cannot start for another reason than that there is no GPU.
        """
        status = self.library.cuInit(0)
        if status == _NO_DEVICE:
            return []
        if status != 0:
            raise DriverError(f"cuInit of the CUDA driver failed: {self._describe(status)}")
        count = ctypes.c_int()
        self.check("cuDeviceGetCount", ctypes.byref(count))
        return [self._gpu(ordinal) for ordinal in range(count.value)]

    def _gpu(self, ordinal: int) -> Gpu:
        device = ctypes.c_int()
        self.check("cuDeviceGet", ctypes.byref(device), ordinal)
        name = ctypes.create_string_buffer(256)
        self.check("cuDeviceGetName", name, len(name), device)
        capability = []
        for attribute in (_COMPUTE_CAPABILITY_MAJOR, _COMPUTE_CAPABILITY_MINOR):
            value = ctypes.c_int()
            self.check("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
            capability.append(value.value)
        return Gpu(ordinal, name.value.decode(errors="replace"), (capability[0], capability[1]))

    def _describe(self, status: int) -> str:
        text = ctypes.c_char_p()
        if self.library.cuGetErrorString(status, ctypes.byref(text)) == 0 and text.value:
            return f"{text.value.decode(errors='replace')} (CUDA error {status})"
        return f"CUDA error {status}"


def misfit(driver: tuple[int, int], sanitizer: str | None) -> str | None:
    """Say why a driver and a Sanitizer library do not fit, naming both; ``None`` when they do.

    NVIDIA's tools work with drivers of their own major CUDA version (minor version compatibility) and later.

    Parameters
    ----------
    driver
        CUDA version the driver supports, e.g. ``(13, 0)``.
    sanitizer
        Version of the Sanitizer library, e.g. ``"13.5.25"``; ``None`` when it is not known.
    """
    major = sanitizer.partition(".")[0] if sanitizer else ""
    if not major.isdigit() or driver[0] >= int(major):
        return None
    return (
        f"the driver supports CUDA {driver[0]}.{driver[1]}, "
        f"the Sanitizer library {sanitizer} needs one for CUDA {major}"
    )


def load() -> Driver:
    """Load the driver library; nothing is initialised by it.

    Raises
    ------
    DriverError
        There is none, or it cannot be loaded; the loader's own words are in the text.
    """
    try:
        return Driver(ctypes.CDLL(LIBRARY))
    except OSError as error:
        raise DriverError(f"NVIDIA's driver library cannot be loaded ({error})") from None


def _main() -> None:
    """Print what the driver says as JSON; run in a process of its own."""
    answer: dict[str, Any] = {"version": None, "gpus": [], "error": None}
    try:
        driver = load()
        answer["version"] = driver.version()
        answer["gpus"] = [gpu._asdict() for gpu in driver.gpus()]
    except DriverError as error:
        answer["error"] = str(error)
    print(json.dumps(answer))


if __name__ == "__main__":
    _main()
