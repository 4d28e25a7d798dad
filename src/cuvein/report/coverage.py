"""What the graph of a kernel covers, and what it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from cuvein.report import numbers, style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuvein.report.summary import KernelSummary

__all__ = ["lines"]


def lines(kernel: KernelSummary) -> Iterator[Text]:
    """Write the coverage section, one line a fact."""
    spaces = ", ".join(
        f"{style.SPACE_NAMES[space]} {numbers.count(kernel.analysed[space])}"
        for space in style.SPACES
        if kernel.analysed[space]
    )
    total = numbers.count(kernel.analysed.total())
    yield Text(f"analysed: {total} warp-level accesses" + (f" ({spaces})" if spaces else ""))
    for instruction, executions in sorted(kernel.not_analysed.items()):
        if executions:
            name = instruction.lower().replace("_", " ")
            yield Text(f"not analysed: {name}, executed {numbers.count(executions)} times", "yellow")
    if kernel.unknown_bytes:
        yield Text(f"outside every known allocation, analysed too: {numbers.amount(kernel.unknown_bytes)}")
    if kernel.lost_records:
        yield Text(f"lost: {numbers.count(kernel.lost_records)} records", "bold yellow")
