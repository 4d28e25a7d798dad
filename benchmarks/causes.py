"""Why a count or a time is not as it should be: what was found out, for ``docs/validation.md``."""

from __future__ import annotations

__all__ = ["DIFFERENCES", "OVERHEAD", "cause"]

_COPIES = (
    "the hardware counts the passes in which the data of an asynchronous copy are written as they arrive; a "
    "profile counts those that the addresses ask for"
)
# By beginning of the program's name, part of the kernel's, beginning of the quantity's.
DIFFERENCES: dict[tuple[str, str, str], str] = {
    (
        "micro/local",
        "wide",
        "local",
    ): "16 bytes a lane of local memory, whose words lie 128 bytes apart, are 4 requests to "
    "the cache; a profile counts the instruction once (the sectors are equal)",
    (
        "micro/sharing",
        "atomic_shared",
        "shared atomic wavefronts",
    ): "lanes that update one word are served one after the other, 32 passes an "
    "instruction; a profile counts the words of a bank, 1",
    ("micro/staging", "copy_filled", "asynchronous copy wavefronts"): "a copy that fills with zeros takes "
    "twice the passes of one that does not; a profile counts those of the addresses",
    ("", "", "asynchronous copy wavefronts"): _COPIES,
    (
        "torch/reductions",
        "kernelHistogram1D",
        "shared",
    ): "a loop of compare-and-swap, which a lane repeats as "
    "often as others were faster: the counts differ from run to run, of one engine too; and each "
    "compare-and-swap takes 2 passes, where a profile counts the words of a bank",
    ("torch/reductions", "gatherTopK", "local"): "a register is spilled; the Sanitizer API does not report "
    "instructions that the compiler has marked as spills (`SpillRefill` in nvdisasm)",
}

# By program.
OVERHEAD: dict[str, str] = {
    "rodinia/lud": "152 million warp-level accesses in a third of a second: what analysing each costs",
    "rodinia/nw": "255 small launches that wait for each other: what a launch costs beside its accesses",
}


def cause(program: str, kernel: str, quantity: str) -> str | None:
    """Return why a quantity of a kernel is not equal, ``None`` where that is not known."""
    return next(
        (
            text
            for (name, part, which), text in DIFFERENCES.items()
            if program.startswith(name) and part in kernel and quantity.startswith(which)
        ),
        None,
    )
