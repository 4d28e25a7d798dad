"""PyTorch: which tensors lie in the segments of its caching allocator."""

from __future__ import annotations

import contextlib
import os
from importlib import import_module
from typing import Any

from .arrays import Arrays, Facts, of_process
from .autograd import Backward, Saved

__all__ = ["watch"]


def watch(torch: Any) -> None:
    """Tell the monitor of tensors from now on. Neither initialises CUDA nor changes what any operator does.

    PyTorch itself reports what its caching allocator gives out and takes back, for its own sanitizer. What a
    tensor is shows when it has become a Python object, when an operator of the forward pass has saved it, or
    in the backward pass by what the graph says of gradients.
    """
    if torch.version.cuda is None:
        return
    monitor, arrays = of_process()
    libraries = os.path.join(os.path.dirname(torch.__file__), "lib")  # noqa: PTH118, PTH120
    if not monitor.can_keep_exceptions(os.path.join(libraries, "libc10.so")):  # noqa: PTH118
        return
    kinds = (torch.Tensor, torch.nn.Parameter)
    facts = _facts_of(torch, kinds)
    saved, backward = Saved(torch, facts, arrays), Backward(torch, monitor)

    def told(tensor: Any) -> Facts | None:
        found: Facts | None = facts(tensor)
        if found is not None:
            with contextlib.suppress(Exception), torch._C.DisableTorchFunction():
                saved.look(tensor)
        return found

    for kind in kinds:
        arrays.know(kind, told)
    blocks = Blocks(torch, arrays, saved, backward)
    trace = import_module("torch.cuda._gpu_trace")
    trace.register_callback_for_memory_allocation(blocks.allocated)
    trace.register_callback_for_memory_deallocation(blocks.freed)
    torch._C._activate_gpu_trace()
    monitor.keep_exceptions()
    names = getattr(torch._C, "_dispatch_get_all_op_names", None)
    if names is not None:
        monitor.name_operators(names())
    monitor.follow_autograd(os.path.join(libraries, "libtorch_cpu.so"))  # noqa: PTH118


class Blocks:
    """The blocks that the caching allocator gives out.

    It tells their addresses only. Their sizes show in its counters: when exactly one block was given out
    since the last look, all the bytes requested since are its.
    """

    def __init__(self, torch: Any, arrays: Arrays, saved: Saved, backward: Backward) -> None:
        self._device = torch._C._cuda_getDevice
        self._statistics = torch._C._cuda_memoryStats
        self._arrays = arrays
        self._saved = saved
        self._backward = backward
        self._before: dict[int, tuple[int, int]] = {}

    def allocated(self, address: int) -> None:
        """A block was given out, to the calling thread."""
        # Before this block there was time for others to become Python objects.
        self._arrays.look()
        size = None
        with contextlib.suppress(Exception):
            size = self._size()
        if size is None:
            # Whatever was known to be there is gone.
            self._arrays.destroyed(address)
            return
        node = self._backward.running()  # which the call site of the block is told by
        self._saved.made(self._arrays.created(address, size))
        if node is not None:
            self._backward.gradient(node, address, size)

    def freed(self, address: int) -> None:
        """A block was taken back."""
        self._arrays.destroyed(address)

    def _size(self) -> int | None:
        device = self._device()
        statistics = self._statistics(device)
        count = statistics["allocation"]["all"]["allocated"]
        requested = statistics["requested_bytes"]["all"]["allocated"]
        count_before, requested_before = self._before.get(device, (0, 0))
        self._before[device] = count, requested
        return requested - requested_before if count == count_before + 1 else None


def _facts_of(torch: Any, kinds: tuple[type, ...]) -> Any:
    # Tensors may be asked for their address only in a way that does not make them copy.
    address_of = getattr(torch._C, "_data_address", None) or torch.Tensor.data_ptr
    unwatched = torch._C.DisableTorchFunction
    strided = torch.strided

    def facts(tensor: Any) -> Facts | None:
        # The program may have put something of its own in the way of every call.
        with unwatched():
            if not tensor.is_cuda or tensor.layout is not strided:
                return None
            # A view may fill the memory in another shape.
            if type(tensor._base) in kinds:
                tensor = tensor._base
            return Facts(
                address_of(tensor),
                tensor.numel() * tensor.element_size(),
                str(tensor.dtype).partition(".")[2],
                tuple(tensor.shape),
            )

    return facts
