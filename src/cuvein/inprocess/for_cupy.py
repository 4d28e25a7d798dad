"""CuPy: which arrays lie in the allocations of its memory pool."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any

from .arrays import Arrays, Facts, of_process

__all__ = ["watch"]


def watch(cupy: Any) -> None:
    """Tell the monitor of the arrays of this thread from now on."""
    _, arrays = of_process()
    array = Array(arrays)
    arrays.know(cupy.ndarray, array.facts)
    hook = _hook(cupy.cuda.MemoryHook, arrays, array)
    hook.__enter__()


def _hook(base: Any, arrays: Arrays, array: Array) -> Any:
    class Hook(base):  # type: ignore[misc]
        name = "cuvein"

        def malloc_postprocess(self, **facts: Any) -> None:
            with contextlib.suppress(Exception):
                arrays.look()
                arrays.created(facts["mem_ptr"], facts["size"])
                array.asks(facts["mem_ptr"], facts["size"])

        def free_preprocess(self, **facts: Any) -> None:
            with contextlib.suppress(Exception):
                arrays.destroyed(facts["mem_ptr"])

    return Hook()


class Array:
    """What an array is.

    Memory may be given back in a thread without hooks, or stay with a view; so the name goes with the array.
    """

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._alive: dict[int, Any] = {}

    def asks(self, address: int, size: int) -> None:
        """Tell of the array that asks for memory: it knows its shape by then, and has no memory yet.

        It may be gone before it is looked for, as those are that a kernel is called with and no one keeps.
        """
        array = self._arrays.youngest(lambda each: each.data is None and each.nbytes == size)
        if array is not None:
            self._follow(address, array)
            self._arrays.name(Facts(address, size, str(array.dtype), array.shape))

    def facts(self, array: Any) -> Facts | None:
        """Give the facts of an array that owns its memory."""
        if array.base is not None:
            return None
        address = array.data.ptr
        if address not in self._alive:
            self._follow(address, array)
        return Facts(address, array.nbytes, str(array.dtype), array.shape)

    def _follow(self, address: int, array: Any) -> None:
        def gone(_: object) -> None:
            self._alive.pop(address, None)
            self._arrays.destroyed(address)

        self._alive[address] = weakref.ref(array, gone)
