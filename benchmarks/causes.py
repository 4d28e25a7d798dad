"""Why a count or a time is not as it should be: what was found out, for ``docs/validation.md``."""

from __future__ import annotations

__all__ = ["OVERHEAD", "cause"]

_LOOP = (
    "a loop of compare-and-swap, which a lane repeats as often as others were faster: the counts "
    "differ from run to run, of one engine too; and a compare-and-swap takes 2 passes for each lane "
    "in a bank, where a profile counts the words of a bank once"
)
# By beginning of the program's name, part of the kernel's, beginning of the quantity's; the first that fits.
_DIFFERENCES: dict[tuple[str, str, str], str] = {
    ("micro/sharing", "atomic_shared", "shared atomic wavefronts"): (
        "lanes that update one word take turns, 32 passes an instruction; a profile counts the words "
        "of a bank, 1"
    ),
    ("micro/staging", "copy_filled", "asynchronous copy wavefronts"): (
        "the counter has 8 passes for each of these copies, whether all lanes fill with zeros, some "
        "or none; 512 bytes are 4 passes, which it has for the same copy without filling "
        "(`copy<float4>`)"
    ),
    ("micro/staging", "double_buffer", "asynchronous copy wavefronts"): (
        "the counter has 32 passes for an execution whose lanes are all off, which the last turn of "
        "the loop has for each of 16 warps: 512 of the 832; the rest are 4 for each copy, as in the "
        "profile"
    ),
    ("llm.c/", "cutlass::Kernel2", "asynchronous copy wavefronts"): (
        "copies of 16 bytes, for which the counter does not count passes where they go past L1 (below): it "
        "has 2.6 to 4.8 for each, by launch, where the 512 bytes take 4"
    ),
    ("torch/reductions", "kernelHistogram1D", "shared"): _LOOP,
    ("llm.c/", "layernorm_backward_kernel2", "shared"): _LOOP,
    ("torch/reductions", "gatherTopK", "local"): (
        "a register is spilled; the Sanitizer API does not report instructions that the compiler has "
        "marked as spills (`SpillRefill` in nvdisasm)"
    ),
}
# By program.
OVERHEAD: dict[str, str] = {
    "rodinia/lud": "382 launches, many of one block or few: few warps do not hide how long the analysis of "
    "an access takes, 2.3 to 3 us of a warp alone (`gpu-engine.json`, `one_warp`); of 1.5 s kernels take "
    "1.1, their ends 0.1 (`launch-ends.json`)",
    "rodinia/nw": "255 launches of at most 128 warps: as `rodinia/lud`; of 0.58 s kernels take 0.22, their "
    "ends 0.10 (`launch-ends.json`)",
    "rodinia/srad_v1": "502 launches: of 0.69 s kernels take 0.26, their ends 0.13 (`launch-ends.json`)",
    "rodinia/streamcluster": "1,432 launches of 16 blocks, each waited for: of 2.0 s kernels take 1.1, their "
    "ends 0.2 (`launch-ends.json`)",
    "rodinia/gaussian": "2,046 launches, each waited for: of 0.73 s kernels take 0.24, their ends 0.16 "
    "(`launch-ends.json`)",
    "xsbench/XSBench": "one kernel makes nearly all of its accesses, most by parts of warps: 8 ns each at "
    "20d7355, 2.2 s; 1.9 where they are not counted, 1.0 where they are not exchanged either "
    "(`program-kernels.json`)",
    "llm.c/train_gpt2_fp32": "864 M accesses in 2,666 launches: cuBLAS's kernels, which the backward "
    "products and attention call, take 17 to 18 times as long as with empty callbacks, llm.c's own 1.3 to "
    "3.3 times (`llm-parts.json`, 20d7355): they copy asynchronously",
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
