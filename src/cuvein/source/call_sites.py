"""Where on the host a launch or an allocation was asked for, in a form for people."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from cuvein.source.host_symbols import HostCall, HostSymbols
from cuvein.source.names import short

if TYPE_CHECKING:
    from cuvein.profile.model import Allocation, CallSite, Launch

__all__ = ["CallPlace", "Origin", "launched_at", "made_at", "native_calls"]

# Python code that is not the program's own.
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib/python3\.\d+/|^<")
# Files whose functions pass calls on to the driver or start threads; what an author wrote is elsewhere.
_RUNTIME = re.compile(
    r"^(?:ld-linux|lib(?:c|m|pthread|dl|stdc\+\+|gcc_s|cuda|cudart|cublas|cublasLt|cudnn|cusparse|cufft|nccl|"
    r"nvrtc|torch|c10|ffi|python3)[\w.+-]*?)(?:-[\w]+)?\.so"
)


@dataclass(frozen=True)
class CallPlace:
    """The call that tells most: the innermost one in the program's own code.

    ``file`` is ``None`` where only the function, or only the file with the machine code, is known.
    """

    file: str | None
    line: int | None
    function: str

    def __str__(self) -> str:
        if self.file is None:
            return self.function
        return f"{os.path.basename(self.file)}:{self.line} in {self.function}"  # noqa: PTH119


@dataclass(frozen=True)
class Origin:
    """Where something was asked for, as far as it is known.

    Attributes
    ----------
    place
        The call, ``None`` when none is known.
    operators
        Operators and backward functions of PyTorch, outermost first.
    ranges
        NVTX ranges, outermost first.
    note
        What is missing.
    """

    place: CallPlace | None
    operators: tuple[str, ...]
    ranges: tuple[str, ...]
    note: str | None

    @property
    def operator(self) -> str | None:
        """The operators as one name: ``aten::softmax.int > aten::_softmax``."""
        return " > ".join(self.operators) or None

    def __str__(self) -> str:
        parts = [str(self.place)] if self.place is not None else []
        if self.operators:
            parts.append(self.operators[0])
        return ", ".join(parts)


def launched_at(launch: Launch) -> Origin | None:
    """Say where a kernel was launched, ``None`` when that was not recorded."""
    return _origin(launch, launch.site)


def made_at(launch: Launch, allocation: Allocation) -> Origin | None:
    """Say where an allocation or a tensor was made, ``None`` when that was not recorded."""
    return _origin(launch, allocation.site)


def native_calls(launch: Launch, site: CallSite) -> list[HostCall]:
    """Give the calls in machine code, innermost first, with what the files say of them."""
    return [_symbols().call(frame, launch.host_modules) for frame in site.native]


def _origin(launch: Launch, index: int | None) -> Origin | None:
    if index is None or index >= len(launch.sites):
        return None
    site = launch.sites[index]
    return Origin(_place(launch, site), tuple(site.operators), tuple(site.ranges), site.note)


def _place(launch: Launch, site: CallSite) -> CallPlace | None:
    for frame in site.python:
        if not _LIBRARY.search(frame.file):
            return CallPlace(frame.file, frame.line, frame.function)
    if site.python:
        frame = site.python[0]
        return CallPlace(frame.file, frame.line, frame.function)
    first: CallPlace | None = None
    for call in native_calls(launch, site):
        name = os.path.basename(call.module or "")  # noqa: PTH119
        if _RUNTIME.match(name):
            continue
        function = short(call.function) if call.function else name
        if call.file is not None and not call.file.startswith("/usr/"):
            return CallPlace(call.file, call.line, function)
        if first is None and function and not function.startswith(("cuda", "cu", "__cuda", "_start")):
            first = CallPlace(None, None, function)
    return first


@lru_cache(maxsize=1)
def _symbols() -> HostSymbols:
    return HostSymbols()
