"""As much of PyTorch as the Python side of cuvein looks at, on memory that is not there."""

from __future__ import annotations

import math
import os
from contextlib import nullcontext
from typing import Any

from torch.cuda import _gpu_trace


class version:  # noqa: N801
    cuda = None if "STAND_IN_CUDA" in os.environ else "13.0"


strided = object()


class dtype:  # noqa: N801
    def __init__(self, name: str, size: int) -> None:
        self.name, self.size = name, size

    @property
    def itemsize(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"torch.{self.name}"


float32 = dtype("float32", 4)
float16 = dtype("float16", 2)


class _Block:
    """What the caching allocator gives out."""

    def __init__(self, size: int) -> None:
        self.address = _C.reuse or 0x100000 + 0x1000 * _C.count
        _C.reuse = None
        _C.count += 1
        _C.requested += size
        _gpu_trace.MemoryAllocationCallbacks.fire_callbacks(self.address)

    def __del__(self) -> None:
        _gpu_trace.MemoryDeallocationCallbacks.fire_callbacks(self.address)


class Node:
    """A node of the graph of the backward pass, with what it has saved."""

    _raw_saved_result: Any = None

    def __init__(self, number: int, *inputs: Node, saved: Any = None, shape: tuple[int, ...] = ()) -> None:
        self.number, self.saved, self.asked = number, saved, 0
        self.next_functions = [*((each, 0) for each in inputs), (None, 0)]
        self._input_metadata = [Metadata(shape, float32)]

    def name(self) -> str:
        return "SoftmaxBackward0"

    def _sequence_nr(self) -> int:
        return self.number

    @property
    def _saved_result(self) -> Any:
        self.asked += 1
        return self.saved


class Metadata:
    def __init__(self, shape: tuple[int, ...], kind: dtype) -> None:
        self.shape, self.dtype = shape, kind


class Tensor:
    is_cuda = True
    layout = strided
    grad_fn: Node | None = None
    _base: Tensor | None = None

    @property
    def is_leaf(self) -> bool:
        return self.grad_fn is None

    def _is_view(self) -> bool:
        return self._base is not None

    def __init__(self, shape: tuple[int, ...], kind: dtype, block: _Block, offset: int = 0) -> None:
        self.shape, self.dtype, self._block, self._offset = shape, kind, block, offset

    def numel(self) -> int:
        return math.prod(self.shape)

    def element_size(self) -> int:
        return self.dtype.size

    def view(self, *shape: int) -> Tensor:
        view = type(self)(shape, self.dtype, self._block)
        view._base = self._base or self
        return view

    def __getitem__(self, index: int) -> Tensor:
        return type(self)(self.shape[1:], self.dtype, self._block, index)


class Fake(Tensor):
    """A tensor of somebody else, which must not be touched."""

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        raise AssertionError("the program's own code was run")


class nn:  # noqa: N801
    class Parameter(Tensor):
        pass


class _C:
    """The C++ side."""

    count = requested = 0
    reuse: int | None = None
    active = False
    DisableTorchFunction = nullcontext
    node: Node | None = None
    task = -1
    hooks: Any = None

    class _autograd:  # noqa: N801
        @staticmethod
        def _top_saved_tensors_default_hooks(ignore_is_tracing: bool) -> Any:
            return _C.hooks

    @staticmethod
    def _current_autograd_node() -> Node | None:
        return _C.node

    @staticmethod
    def _current_graph_task_id() -> int:
        return _C.task

    @staticmethod
    def _activate_gpu_trace() -> None:
        _C.active = True

    @staticmethod
    def _cuda_getDevice() -> int:  # noqa: N802
        return 0

    @staticmethod
    def _cuda_memoryStats(device: int) -> dict[str, Any]:  # noqa: N802
        return {
            "allocation": {"all": {"allocated": _C.count}},
            "requested_bytes": {"all": {"allocated": _C.requested}},
        }

    @staticmethod
    def _data_address(tensor: Tensor) -> int:
        return tensor._block.address + tensor._offset

    @staticmethod
    def _dispatch_get_all_op_names() -> list[str]:
        return ["aten::add.Tensor", "aten::_softmax"]


def empty(*shape: int, kind: dtype = float32) -> Tensor:
    return Tensor(shape, kind, _Block(math.prod(shape) * kind.size))
