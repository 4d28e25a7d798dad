"""The functions of the monitor that the Python side calls (native/monitor/program.cpp)."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Monitor", "load"]

_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int)


class Monitor:
    """The monitor of this process.

    Parameters
    ----------
    library
        The monitor, loaded.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._created = library.cuvein_tensor_created
        self._created.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
        self._created.restype = None
        self._named = library.cuvein_tensor_named
        self._named.argtypes = [
            ctypes.c_uint64,
            ctypes.c_uint64,
            ctypes.c_char_p,
            ctypes.POINTER(ctypes.c_int64),
            ctypes.c_uint,
        ]
        self._named.restype = ctypes.c_int
        self._destroyed = library.cuvein_tensor_destroyed
        self._destroyed.argtypes = [ctypes.c_uint64]
        self._destroyed.restype = None
        self._kept: list[object] = []

    def created(self, address: int, size: int) -> None:
        """Say that the calling thread was given ``size`` bytes."""
        self._created(address, size)

    def named(self, address: int, size: int, dtype: str, shape: Sequence[int]) -> bool:
        """Say what an array of ``size`` bytes is; whether one that large was created there."""
        numbers = (ctypes.c_int64 * len(shape))(*shape)
        return bool(self._named(address, size, dtype.encode(), numbers, len(shape)))

    def destroyed(self, address: int) -> None:
        """Say that the memory was given back."""
        self._destroyed(address)

    def name_operators(self, names: Iterable[str]) -> None:
        """Tell the names of PyTorch's operators."""
        function = self._library.cuvein_name_operators
        function.argtypes, function.restype = [ctypes.c_char_p], None
        function("\n".join(names).encode())

    def after_launch(self, look: Callable[[], None]) -> None:
        """Have ``look`` called by the main thread soon after each launch."""

        def call() -> int:
            look()
            return 0

        callback = _CALLBACK(call)
        self._kept.append(callback)
        function = self._library.cuvein_after_launch
        function.argtypes, function.restype = [_CALLBACK], None
        function(callback)


def load() -> Monitor:
    """Load the library that the CUDA driver will find loaded.

    Raises
    ------
    OSError
        It cannot be loaded.
    KeyError
        The process does not run under ``cuvein run``.
    """
    return Monitor(ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]))
