"""PyTorch's reports on its caching allocator."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class CallbackRegistry:
    def __init__(self) -> None:
        self.callback_list: list[Callable[[int], None]] = []

    def fire_callbacks(self, argument: int) -> None:
        for callback in self.callback_list:
            callback(argument)


MemoryAllocationCallbacks = CallbackRegistry()
MemoryDeallocationCallbacks = CallbackRegistry()


def register_callback_for_memory_allocation(callback: Callable[[int], None]) -> None:
    MemoryAllocationCallbacks.callback_list.append(callback)


def register_callback_for_memory_deallocation(callback: Callable[[int], None]) -> None:
    MemoryDeallocationCallbacks.callback_list.append(callback)
