"""PyTorch's graph: what its nodes say of tensors that never become Python objects."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from .arrays import Arrays, Facts
    from .monitor import Monitor

__all__ = ["Backward", "Saved"]

_MOST_NODES = 64  # of a graph, looked at for one tensor
_MOST_NUMBERS = 1 << 16  # remembered
_MOST_FRAMES = 64
_MOST_KINDS = 3  # of a gradient, named
# Where a thread is that waits for the end of a backward pass.
_ENGINE = (
    "/torch/autograd/graph.py _engine_run_backward",
    "/torch/autograd/__init__.py backward",
    "/torch/autograd/__init__.py grad",
)


def _nothing(*_: object) -> None:
    return None


class Saved:
    """Tensors that operators of the forward pass have saved for the backward pass.

    A program may have its own functions called when such a tensor is asked for. So only those are asked for
    that were saved when the program had set none.

    Parameters
    ----------
    torch
        The module.
    facts
        What a tensor is.
    arrays
        Where to tell.
    """

    def __init__(self, torch: Any, facts: Callable[[Any], Facts | None], arrays: Arrays) -> None:
        self._facts = facts
        self._arrays = arrays
        autograd = getattr(torch._C, "_autograd", None)
        self._hooks = getattr(autograd, "_top_saved_tensors_default_hooks", None)
        self._names: dict[type, list[str]] = {}
        self._plain: dict[int, None] = {}  # numbers of nodes that may be asked
        self._hooked: set[int] = set()
        self._seen: dict[int, None] = {}

    def made(self, number: int) -> None:
        """A block was given out while the newest node of the thread had this number (-1: there is none)."""
        if number < 0 or self._hooks is None:
            return
        with contextlib.suppress(Exception):
            if self._hooks(False) is None:
                self._plain[number] = None
                _forget_oldest(self._plain)
            else:
                self._hooked.add(number)

    def look(self, tensor: Any) -> None:
        """Tell what was saved by the nodes that a tensor comes from, as far as they are new."""
        if not self._plain or tensor.is_leaf or tensor._is_view():
            return
        nodes = [tensor.grad_fn]
        for _ in range(_MOST_NODES):
            if not nodes:
                break
            node = nodes.pop()
            number = node._sequence_nr()
            if number in self._seen:
                continue
            self._seen[number] = None
            _forget_oldest(self._seen)
            if self._plain.pop(number, self) is None and number not in self._hooked:
                for name in self._saved(type(node)):
                    with contextlib.suppress(Exception):
                        self._tell(getattr(node, name))
            nodes += [other for other, _ in node.next_functions if other is not None]

    def _saved(self, kind: type) -> list[str]:
        if kind not in self._names:
            raw = "_raw_saved_"
            self._names[kind] = [f"_saved_{name[len(raw) :]}" for name in dir(kind) if name.startswith(raw)]
        return self._names[kind]

    def _tell(self, tensor: Any) -> None:
        found = self._facts(tensor) if tensor is not None else None
        if found is not None:
            self._arrays.name(found)


class Backward:
    """The backward pass: which node runs, and what gradients it hands on.

    Parameters
    ----------
    torch
        The module.
    monitor
        Where to tell.
    """

    def __init__(self, torch: Any, monitor: Monitor) -> None:
        self._monitor = monitor
        self._node = getattr(torch._C, "_current_autograd_node", _nothing)
        self._pass = getattr(torch._C, "_current_graph_task_id", lambda: -1)
        self._told = -1

    def running(self) -> Any:
        """Tell what the calling thread runs; give the node, ``None`` outside backward passes."""
        with contextlib.suppress(Exception):
            number = self._pass()
            if number < 0:
                return None
            if number != self._told:
                self._told = number
                frames = _waiting()
                if frames:
                    self._monitor.started(number, frames)
            node = self._node()
            if node is not None:
                self._monitor.node(node._sequence_nr(), node.name())
            return node
        return None

    def gradient(self, node: Any, address: int, size: int) -> None:
        """Tell that a new block may be a gradient: one of its size that the node hands on."""
        with contextlib.suppress(Exception):
            found = list(dict.fromkeys(each[1:] for each in self._gradients(node) if each[0] == size))
            if len(found) == 1:
                self._monitor.gradient(address, size, *found[0])
            elif found:
                kinds = " or ".join(f"{dtype}{list(shape)}" for dtype, shape in found[:_MOST_KINDS])
                self._monitor.gradient_of(
                    address, size, kinds if found[_MOST_KINDS:] == [] else f"{kinds} or …"
                )

    def _gradients(self, node: Any) -> list[tuple[int, str, tuple[int, ...]]]:
        """Give bytes, type and shape of what a node hands on."""
        found = []
        for other, index in node.next_functions:
            if other is None:
                continue
            kind = other._input_metadata[index]
            shape = tuple(kind.shape)
            count = 1
            for extent in shape:
                count *= extent
            found.append((count * kind.dtype.itemsize, str(kind.dtype).partition(".")[2], shape))
        return found


def _waiting() -> list[tuple[str, str, int]]:
    """Give the frames of the thread that waits for a backward pass, if it is the only one that does."""
    waiting = []
    for frame in sys._current_frames().values():
        code = frame.f_code
        if f"{code.co_filename} {code.co_name}".endswith(_ENGINE):
            waiting.append(frame)
    frames: list[tuple[str, str, int]] = []
    caller: FrameType | None = waiting[0] if len(waiting) == 1 else None
    while caller is not None and len(frames) < _MOST_FRAMES:
        code = caller.f_code
        frames.append((code.co_filename, getattr(code, "co_qualname", code.co_name), caller.f_lineno or 0))
        caller = caller.f_back
    return frames


def _forget_oldest(numbers: dict[int, None]) -> None:
    if len(numbers) > _MOST_NUMBERS:
        del numbers[next(iter(numbers))]
