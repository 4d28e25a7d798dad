"""The functions of the monitor that the Python side calls (native/monitor/program.cpp)."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any

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
        self._created.restype = ctypes.c_int64
        self._named = _told_of_array(library.cuvein_tensor_named, ctypes.c_int)
        self._allocation = _told_of_array(library.cuvein_allocation_named, ctypes.c_int)
        self._gradient = _told_of_array(library.cuvein_gradient_created, None)
        self._gradient_of = library.cuvein_gradient_of_kinds
        self._gradient_of.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p]
        self._gradient_of.restype = None
        self._node = library.cuvein_node_running
        self._node.argtypes, self._node.restype = [ctypes.c_uint64, ctypes.c_char_p], None
        self._destroyed = library.cuvein_tensor_destroyed
        self._destroyed.argtypes = [ctypes.c_uint64]
        self._destroyed.restype = None
        self._kept: list[object] = []

    def created(self, address: int, size: int) -> int:
        """Say that the calling thread was given ``size`` bytes.

        Returns the number of the newest node of PyTorch's graph that the thread has made, -1 for none.
        """
        return int(self._created(address, size))

    def named(self, address: int, size: int, dtype: str, shape: Sequence[int]) -> bool:
        """Say what an array of ``size`` bytes is; whether one that large was created there."""
        return bool(self._named(*_array(address, size, dtype, shape)))

    def allocation(self, address: int, size: int, dtype: str, shape: Sequence[int]) -> bool:
        """Say the same of an array that has an allocation for itself."""
        return bool(self._allocation(*_array(address, size, dtype, shape)))

    def gradient(self, address: int, size: int, dtype: str, shape: Sequence[int]) -> None:
        """Say that what was just created is such a gradient if it outlives the node that runs."""
        self._gradient(*_array(address, size, dtype, shape))

    def gradient_of(self, address: int, size: int, kinds: str) -> None:
        """Say the same where it may be one of several kinds, which are named."""
        self._gradient_of(address, size, kinds.encode())

    def follow_autograd(self, library: str) -> None:
        """Have backward passes followed by the functions of a library that is loaded."""
        function = self._library.cuvein_follow_autograd
        function.argtypes, function.restype = [ctypes.c_char_p], None
        function(os.fsencode(library))

    def can_keep_exceptions(self, library: str) -> bool:
        """Whether :meth:`keep_exceptions` can work, with a library of PyTorch that is loaded."""
        function = self._library.cuvein_find_gpu_trace
        function.argtypes, function.restype = [ctypes.c_char_p], ctypes.c_int
        return bool(function(os.fsencode(library)))

    def keep_exceptions(self) -> None:
        """Have exceptions on their way put aside while PyTorch reports what its allocator does."""
        function = self._library.cuvein_keep_exceptions
        function.argtypes, function.restype = [], None
        function()

    def node(self, number: int, name: str) -> None:
        """Say which node of PyTorch's graph the calling thread runs that is about to be given memory."""
        self._node(number, name.encode())

    def started(self, number: int, frames: Sequence[tuple[str, str, int]]) -> None:
        """Say from where a backward pass was started: file, function and line, innermost first."""
        count = len(frames)
        function = self._library.cuvein_pass_started
        texts = ctypes.c_char_p * count
        function.argtypes = [ctypes.c_int64, ctypes.c_uint, texts, texts, ctypes.c_int * count]
        function.restype = None
        files, functions = (
            texts(*(text.encode(errors="replace") for text in column))
            for column in ([frame[0] for frame in frames], [frame[1] for frame in frames])
        )
        function(number, count, files, functions, (ctypes.c_int * count)(*(frame[2] for frame in frames)))

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


def _told_of_array(function: Any, result: Any) -> Any:
    function.argtypes = [
        ctypes.c_uint64,
        ctypes.c_uint64,
        ctypes.c_char_p,
        ctypes.POINTER(ctypes.c_int64),
        ctypes.c_uint,
    ]
    function.restype = result
    return function


def _array(address: int, size: int, dtype: str, shape: Sequence[int]) -> tuple[Any, ...]:
    return address, size, dtype.encode(), (ctypes.c_int64 * len(shape))(*shape), len(shape)


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
