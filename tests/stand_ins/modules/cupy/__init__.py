"""As much of CuPy as the Python side of cuvein looks at, on memory that is not there."""

from __future__ import annotations

import math
from typing import Any, ClassVar


class cuda:  # noqa: N801
    class MemoryHook:
        active: ClassVar[list[Any]] = []

        def __enter__(self) -> None:
            self.active.append(self)


class _Memory:
    next = 0x100000
    hooked = True

    def __init__(self, size: int) -> None:
        self.ptr = _Memory.next
        for hook in cuda.MemoryHook.active if self.hooked else ():
            hook.malloc_postprocess(device_id=0, size=size, mem_size=512, mem_ptr=self.ptr, pmem_id=0)

    def __del__(self) -> None:
        for hook in cuda.MemoryHook.active if self.hooked else ():
            hook.free_preprocess(device_id=0, mem_size=512, mem_ptr=self.ptr, pmem_id=0)


class _Pointer:
    def __init__(self, memory: _Memory) -> None:
        self.mem, self.ptr = memory, memory.ptr


class ndarray:  # noqa: N801
    def __init__(self, shape: tuple[int, ...], memory: _Memory | None = None, base: Any = None) -> None:
        self.shape, self.base, self.dtype = shape, base, "float32"
        self.nbytes = 4 * math.prod(shape)
        # As in CuPy, the array knows what it is before it has its memory.
        self.data: _Pointer | None = None
        self.data = _Pointer(memory or _Memory(self.nbytes))

    def view(self, *shape: int) -> ndarray:
        assert self.data is not None
        return ndarray(shape, self.data.mem, self)


def empty(*shape: int) -> ndarray:
    return ndarray(shape)
