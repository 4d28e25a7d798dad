"""Why a count or a time is not as it should be: what was found out, for ``docs/validation.md``."""

from __future__ import annotations

__all__ = ["DIFFERENCES", "OVERHEAD"]

# By beginning of the program's name and part of the kernel's.
DIFFERENCES: dict[tuple[str, str], str] = {}

# By program.
OVERHEAD: dict[str, str] = {}
