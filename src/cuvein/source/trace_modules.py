"""The modules inside a trace file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.source.missing import Missing
from cuvein.trace import Module, NativeError, read

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TraceModules"]


class TraceModules:
    """Gives the modules of a trace. The trace is read through once, when the first one is asked for.

    Parameters
    ----------
    trace
        The trace file.
    """

    def __init__(self, trace: Path) -> None:
        self._trace = trace
        self._modules: dict[str, bytes] | None = None
        self._problem: Missing | None = None

    def module(self, sha256: str) -> bytes | Missing | None:
        """Give the bytes of a module, ``None`` when it is not here, or why the trace cannot be read."""
        if self._modules is None:
            self._modules = {}
            try:
                for part in read(self._trace):
                    if isinstance(part, Module):
                        self._modules[part.sha256] = part.cubin
            except NativeError as error:
                # What comes before the damage is good.
                self._problem = Missing(str(error).rstrip("."))
        return self._modules.get(sha256) or self._problem
