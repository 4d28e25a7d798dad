"""The table of program counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from cuvein.graph.labels import LABELS
from cuvein.patterns.thresholds import Thresholds
from cuvein.report import numbers, style

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from cuvein.profile.model import LabelName
    from cuvein.report.style import Glyphs
    from cuvein.report.summary import AccessKey, AccessSummary, KernelSummary

__all__ = ["mostly_cell", "ratio_cell", "share", "table"]

# How much a line tells.
_LEAST, _SHORT, _MEDIUM, _FULL = range(4)
_LINE_WIDTH = 24
# From the thresholds of the patterns on, a ratio is worth a look.
_THRESHOLDS = Thresholds()


def share(labels: Counter[LabelName], whole: int) -> Text:
    """Name the label of most bytes and its share."""
    label = max(LABELS, key=lambda name: labels[name])
    if not labels[label]:
        return Text("")
    return Text(f"{label} {numbers.percent(labels[label], whole)}", style.LABEL_STYLES[label])


def table(
    kernel: KernelSummary,
    listed: Sequence[AccessSummary],
    lines: Mapping[AccessKey, str],
    console: Console,
    *,
    width: int,
    glyphs: Glyphs,
) -> Table:
    """Make the table, one line a program counter, with as many columns as fit.

    Parameters
    ----------
    kernel
        Whose instructions they are.
    listed
        The accesses, in order.
    lines
        Source line (``file:line``) of each access that has one.
    console
        What it will be printed on.
    width
        Characters in a line.
    glyphs
        Characters to use.
    """
    options = console.options.update(width=10_000)
    # A source line tells more than the further numbers, so it goes last.
    for detail in (_FULL, _MEDIUM, _SHORT):
        result = _table(kernel, listed, lines, detail, glyphs)
        if Measurement.get(console, options, result).maximum <= width:
            return result
    result = _table(kernel, listed, {}, _SHORT, glyphs)
    if Measurement.get(console, options, result).maximum <= width:
        return result
    return _table(kernel, listed, {}, _LEAST, glyphs)


def _table(
    kernel: KernelSummary,
    listed: Sequence[AccessSummary],
    lines: Mapping[AccessKey, str],
    detail: int,
    glyphs: Glyphs,
) -> Table:
    wide = detail >= _MEDIUM
    result = Table(box=None, header_style="dim", padding=(0, 2 if wide else 1, 0, 0))
    result.add_column("pc", no_wrap=True, overflow="ellipsis", max_width=28)
    if lines:
        result.add_column("line", no_wrap=True)
    result.add_column("access", no_wrap=True)
    for name in ("executions", "bytes") if wide else ("bytes",) if detail == _LEAST else ("times", "bytes"):
        result.add_column(name, justify="right", no_wrap=True)
    if wide:
        result.add_column("used / ideal", justify="right", no_wrap=True)
    result.add_column("ratio", justify="right", no_wrap=True)
    # What wraps gives way first, so that no number is cut.
    result.add_column("mostly", no_wrap=detail != _LEAST, overflow="ellipsis")
    if detail != _LEAST:
        before = "touched before by" if wide else "before"
        result.add_column(before, no_wrap=True, overflow="ellipsis", max_width=32)
    executions = numbers.count if wide else numbers.compact
    for access in listed:
        cells = [
            place(access.key, access.function, kernel),
            *([Text(_line(lines.get(access.key, glyphs.dash), glyphs))] if lines else []),
            Text(_kind(access, detail)),
            *([Text(executions(access.executions))] if detail != _LEAST else []),
            Text(numbers.amount(access.bytes)),
        ]
        if wide:
            cells.append(_average(access, glyphs))
        cells += [
            ratio_cell(access.ratio, glyphs, shared=access.unit == "wavefronts"),
            mostly_cell(access.labels, access.bytes, labels=2 if detail == _FULL else 1),
            *([_origin(access, kernel, glyphs, detail)] if detail != _LEAST else []),
        ]
        result.add_row(*cells)
    return result


def place(key: AccessKey, function: str, kernel: KernelSummary) -> Text:
    """Name a program counter; one in a function that the kernel calls is told with it."""
    offset = f"0x{key.pc:04x}"
    if key.function == kernel.mangled:
        return Text(offset)
    return Text(f"{offset} {style.printable(function.partition('(')[0])}")


def _line(text: str, glyphs: Glyphs) -> str:
    """Shorten the file's name, never the number behind it."""
    file, colon, number = text.rpartition(":")
    if len(text) <= _LINE_WIDTH or not colon:
        return text
    kept = max(1, _LINE_WIDTH - len(number) - 1 - len(glyphs.ellipsis))
    return f"{file[:kept]}{glyphs.ellipsis}:{number}"


def _kind(access: AccessSummary, detail: int) -> str:
    space = {"distributed_shared": "dshared"}.get(access.key.space, access.key.space)
    asynchronous = (" (a)" if detail <= _SHORT else " async") if access.asynchronous else ""
    return f"{access.key.type} {space} {access.size}{asynchronous}"


def _average(access: AccessSummary, glyphs: Glyphs) -> Text:
    if not access.ideal or not access.executions:
        return Text(glyphs.dash)
    used = numbers.mean(access.used / access.executions)
    return Text(f"{used}/{numbers.mean(access.ideal / access.executions)} {access.unit}")


def ratio_cell(ratio: float | None, glyphs: Glyphs, *, shared: bool) -> Text:
    """Used over ideal wavefronts (``shared``) or sectors, in red from the threshold of its finding up."""
    if ratio is None:
        return Text(glyphs.dash)
    threshold = _THRESHOLDS.conflict if shared else _THRESHOLDS.coalescing
    return Text(f"{ratio:.2f}{glyphs.times}", "bold red" if ratio >= threshold else "")


def mostly_cell(weights: Mapping[LabelName, int], total: int, *, labels: int) -> Text:
    """List the labels of most bytes, at most so many, each with its share of ``total`` bytes."""
    heaviest = sorted(LABELS, key=lambda label: -weights[label])[:labels]
    return Text(", ").join(
        Text(f"{label} {numbers.percent(weights[label], total)}", style.LABEL_STYLES[label])
        for label in heaviest
        if weights[label]
    )


def _origin(access: AccessSummary, kernel: KernelSummary, glyphs: Glyphs, detail: int) -> Text:
    label = access.main_reuse
    found = access.main_origin(label) if label else None
    if label is None or found is None:
        return Text(glyphs.dash)
    key, _ = found
    text = Text("itself") if key == access.key else place(key, kernel.accesses[key].function, kernel)
    if label != access.main_label and detail > _SHORT:
        text.append(f" ({label})", style.LABEL_STYLES[label])
    return text
