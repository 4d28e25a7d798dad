"""Why a count or a time is not as it should be: what was found out, for ``docs/validation.md``."""

from __future__ import annotations

__all__ = ["DERIVED", "DIFFERENCES", "OVERHEAD"]

_LINES = (
    "a statement over several lines was planted on its first, and nvcc 13.0 gives the access to another, so "
    "its numbers were not compared; all its lines are planted since."
)
# By program of the microbenchmarks.
DERIVED: dict[str, str] = {"hopper": _LINES, "staging": _LINES}

# By beginning of the program's name and part of the kernel's.
DIFFERENCES: dict[tuple[str, str], str] = {}

# By program.
OVERHEAD: dict[str, str] = {}
