"""What launches cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launches import judge
from sections.markdown import TIMES, Json, Section, code, table

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["fill"]

# In words what a comparison runs, and what its numbers are.
COMPARED: dict[str, tuple[str, Sequence[str]]] = {
    "launches": (
        "{count:,} launches of a tiny kernel",
        ("{:,.0f} ms for all launches", "{:.0f} MiB of device memory after a tenth", "{:.0f} MiB after all"),
    ),
    "unselected": ("a kernel that is not profiled beside one that is", ("{:.3f} ms",)),
    "tiny": (
        "a tiny kernel's launches",
        (
            "first {:,.0f} us",
            "and {:.0f} MiB",
            "on the GPU's clock alone {:.1f} us",
            "in a row {:.1f}",
            "until the host may go on {:.1f}",
            "until all are done {:.1f}",
            "waited for {:.1f}",
        ),
    ),
    "overlap": ("eight kernels at once, each in a stream", ()),
    "operators": (
        "PyTorch's sum, sort, topk of 2048 rows, each twice",
        tuple(f"{name} {{:.2f}} s" for name in ("sum", "again", "sort", "again", "topk", "again")),
    ),
    "many blocks": ("22 million blocks", ()),
}


def fill(result: Json) -> Section:
    """One row a comparison and way; goals in a list."""
    rows: list[list[object]] = []
    for name, (_, numbers) in COMPARED.items():
        ways = result.get(name, {}).get("ways", {})
        for way, found in ways.items():
            if "failure" in found:
                rows.append([code(name), way, found["failure"], "", ""])
                continue
            told = ", ".join(
                text.format(number) for text, number in zip(numbers, found["numbers"], strict=False)
            )
            ratio = (
                f"{found['times']:.2f}{TIMES}"
                if way != "plain" and "seconds" in ways.get("plain", {})
                else ""
            )
            rows.append([code(name), way, f"{found['seconds']:.2f} s", ratio, told])
    described = (f"{code(name)}: {what.format(**result)}" for name, (what, _) in COMPARED.items())
    return {
        "repetitions": result["repetitions"],
        "what": "; ".join(described),
        "goals": "\n".join(f"- {sentence}" for sentence in [*judge(result), *result["not_begun"]]),
        "table": table(["what", "way", "program", "of plain", "numbers"], rows),
    }, {}
