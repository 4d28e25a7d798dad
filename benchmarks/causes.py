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
DIFFERENCES: dict[tuple[str, str], str] = {
    (
        "micro/local",
        "wide",
    ): "16 bytes a lane of local memory, whose words lie 128 bytes apart, are 4 requests to "
    "the cache; a profile counts the instruction once (the sectors are equal)",
    (
        "micro/sharing",
        "atomic_shared",
    ): "lanes that update one word are served one after the other, 32 passes an "
    "instruction; a profile counts the words of a bank, 1",
}

# By program.
OVERHEAD: dict[str, str] = {
    "rodinia/lud": "152 million warp-level accesses in a third of a second: what analysing each costs",
    "rodinia/nw": "255 small launches that wait for each other: what a launch costs beside its accesses",
}
