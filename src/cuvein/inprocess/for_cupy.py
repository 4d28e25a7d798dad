"""CuPy: which arrays lie in the allocations of its memory pool."""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING, Any

from .arrays import Arrays, Facts, of_process

if TYPE_CHECKING:
    from .monitor import Monitor

__all__ = ["watch"]


def watch(cupy: Any) -> None:
    """Tell the monitor of the arrays of this thread from now on."""
    monitor, arrays = of_process()
    arrays.know(cupy.ndarray, Array(monitor).facts)
    hook = _hook(cupy.cuda.MemoryHook, monitor, arrays)
    hook.__enter__()


def _hook(base: Any, monitor: Monitor, arrays: Arrays) -> Any:
    class Hook(base):  # type: ignore[misc]
        name = "cuvein"

        def malloc_postprocess(self, **facts: Any) -> None:
            with contextlib.suppress(Exception):
                arrays.look()
                monitor.created(facts["mem_ptr"], facts["size"])

        def free_preprocess(self, **facts: Any) -> None:
            with contextlib.suppress(Exception):
                monitor.destroyed(facts["mem_ptr"])

    return Hook()


class Array:
    """What an array is. Of one that another thread may free, CuPy's memory object says when it is freed."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._memories: dict[int, Any] = {}

    def facts(self, array: Any) -> Facts | None:
        """Give the facts of an array that owns its memory."""
        if array.base is not None:
            return None
        address = array.data.ptr
        self._follow(address, array.data.mem)
        return Facts(address, array.nbytes, str(array.dtype), array.shape)

    def _follow(self, address: int, memory: Any) -> None:
        def gone(_: object) -> None:
            self._memories.pop(address, None)
            self._monitor.destroyed(address)

        try:
            self._memories[address] = weakref.ref(memory, gone)
        except TypeError:
            return
