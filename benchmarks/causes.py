"""Why a count or a time is not as it should be: what was found out, for ``docs/validation.md``."""

from __future__ import annotations

__all__ = ["OVERHEAD", "cause"]

_COPIES = (
    "a profile counts the passes that the addresses ask for; the hardware takes as many where "
    "a warp copies whole rows (`copy`, `pipeline`), and others, by a rule that is not known in full, where "
    "lanes fill with zeros, targets lie apart, or a loop keeps several copies under way"
)
_LOOP = (
    "a loop of compare-and-swap, which a lane repeats as often as others were faster: the counts differ from "
    "run to run, of one engine too; and a compare-and-swap takes up to 2 passes, where a profile counts the "
    "words of a bank"
)
# By beginning of the program's name, part of the kernel's, beginning of the quantity's.
_DIFFERENCES: dict[tuple[str, str, str], str] = {
    (
        "micro/local",
        "wide",
        "local",
    ): "16 bytes a lane of local memory, whose words lie 128 bytes apart, are 4 "
    "requests to the cache; a profile counts the instruction once (the sectors are equal)",
    (
        "micro/sharing",
        "atomic_shared",
        "shared atomic wavefronts",
    ): "lanes that update one word are served one "
    "after the other, 32 passes an instruction; a profile counts the words of a bank, 1",
    ("", "", "asynchronous copy wavefronts"): _COPIES,
    ("torch/reductions", "kernelHistogram1D", "shared"): _LOOP,
    ("llm.c/", "layernorm_backward_kernel2", "shared"): _LOOP,
    ("torch/reductions", "gatherTopK", "local"): "a register is spilled; the Sanitizer API does not report "
    "instructions that the compiler has marked as spills (`SpillRefill` in nvdisasm)",
}
# By program.
OVERHEAD: dict[str, str] = {
    "rodinia/lud": "152 million accesses of warps in a quarter of a second: 18 ns for analysing each",
    "rodinia/nw": "255 launches of at most 128 warps take some 3 ms each: likely, since so few do not hide "
    "how long the analysis of an access takes; not proven",
    "rodinia/srad_v1": "50 million accesses of warps in 502 launches, in a quarter of a second",
    "rodinia/streamcluster": "50 million accesses of warps in 1,432 launches, in less than a second",
    "llm.c/train_gpt2_fp32": "not known: the run was ended before it told how many accesses it makes",
    "torch/reductions": "a sort with more counters than fit the engine's tables: each further count went to "
    "the host by itself (mended in 364b0de, not measured since)",
}


def cause(program: str, kernel: str, quantity: str) -> str | None:
    """Return why a quantity of a kernel is not equal, ``None`` where that is not known."""
    return next(
        (
            text
            for (name, part, which), text in _DIFFERENCES.items()
            if program.startswith(name) and part in kernel and quantity.startswith(which)
        ),
        None,
    )
