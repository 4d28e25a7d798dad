"""The report for a terminal: where each kernel's bytes come from, and which instructions touch them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cuvein.graph.labels import LABELS
from cuvein.report import accesses, coverage, numbers, style
from cuvein.report.origins import launched_lines
from cuvein.report.printing import MINIMUM_WIDTH, WIDE, printed
from cuvein.report.summary import summarise
from cuvein.source import Missing, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console, RenderableType

    from cuvein.profile.model import LabelName, LaunchProfile
    from cuvein.report.summary import AccessKey, AccessSummary, KernelSummary, LaunchShape, Summary
    from cuvein.source import Locator

__all__ = ["TerminalReport"]


class TerminalReport:
    """Text for a terminal or a pipe.

    Parameters
    ----------
    width
        Characters in a line, at least 60.
    colour
        Whether to send colours; without them every number is still there.
    unicode
        Whether the output can show other characters than ASCII.
    top
        How many of the heaviest program counters to list for each kernel; 0 for all.
    locator
        Knows the source lines; without it none are shown.
    """

    def __init__(
        self,
        width: int = 100,
        *,
        colour: bool = False,
        unicode: bool = True,
        top: int = 10,
        locator: Locator | None = None,
    ) -> None:
        self._width = max(width, MINIMUM_WIDTH)
        self._colour = colour
        self._unicode = unicode
        self._glyphs = style.Glyphs.choose(unicode=unicode)
        self._top = top
        self._locator = locator

    def render(self, profiles: Iterable[LaunchProfile]) -> str:
        """Make the report; see :class:`cuvein.report.Report`."""
        summary = summarise(profiles)
        return printed(
            lambda console: self._print(console, summary),
            self._width,
            colour=self._colour,
            unicode=self._unicode,
        )

    def _print(self, console: Console, summary: Summary) -> None:
        console.print(self._title(summary))
        console.print()
        if len(summary.kernels) > 1:
            console.print(self._overview(summary))
            console.print()
        for number, kernel in enumerate(summary.kernels, 1):
            for part in self._kernel(console, number if len(summary.kernels) > 1 else None, kernel):
                console.print(part)
            console.print()
        console.print(self._legend(summary))

    def _title(self, summary: Summary) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append("cuvein", "bold")
        facts = [
            _plural(summary.launches, "launch", "launches"),
            _plural(len(summary.kernels), "kernel", "kernels"),
            style.printable(", ".join(summary.devices)),
        ]
        text.append(f" {self._glyphs.dot} " + f" {self._glyphs.dot} ".join(facts))
        commands = list(
            dict.fromkeys(style.printable(shlex.join(words)) for words in summary.programs.values())
        )
        more = f" and {len(commands) - 1} more" if len(commands) > 1 else ""
        text.append(f"\n{commands[0]}{more}", "dim")
        return text

    def _overview(self, summary: Summary) -> RenderableType:
        table = _table()
        table.add_column("#", justify="right")
        table.add_column("kernel", ratio=1, no_wrap=True, overflow="ellipsis")
        table.add_column("launches", justify="right", no_wrap=True)
        table.add_column("traffic", justify="right", no_wrap=True)
        table.add_column("mostly", no_wrap=True)
        bar = self._colour and self._width >= WIDE
        if bar:
            table.add_column("by scope", no_wrap=True)
        for number, kernel in enumerate(summary.kernels, 1):
            labels = kernel.by_label()
            row: list[RenderableType] = [
                str(number),
                Text(style.printable(short(kernel.name)), "bold" if not kernel.incomplete else "bold yellow"),
                numbers.count(len(kernel.launches)),
                numbers.amount(kernel.bytes),
                accesses.share(labels, kernel.bytes),
            ]
            table.add_row(*row, *([self._glyphs.stack(labels, 24)] if bar else []))
        return table

    def _kernel(
        self, console: Console, number: int | None, kernel: KernelSummary
    ) -> Iterable[RenderableType]:
        heading = Text(overflow="fold")
        heading.append(f"[{number}] " if number is not None else "", "bold")
        heading.append(style.printable(kernel.name), "bold underline" if self._colour else "")
        yield heading
        yield Text("    " + self._facts(kernel), "dim")
        for place in launched_lines(kernel.launched):
            yield Text("    " + place, "dim", overflow="ellipsis", no_wrap=True)
        for sequence, sentence in kernel.incomplete[:5]:
            yield Text(f"    INCOMPLETE launch {sequence}: {style.printable(sentence)}", "bold yellow")
        if len(kernel.incomplete) > 5:
            yield Text(f"    INCOMPLETE {len(kernel.incomplete) - 5} launches more", "bold yellow")
        yield ""
        if kernel.bytes:
            yield Padding(self._traffic(kernel), (0, 0, 0, 2))
            yield ""
            yield from self._accesses(console, kernel)
        else:
            yield Text("  No memory access was recorded.")
        yield ""
        yield Text("  Coverage", "bold")
        for line in coverage.lines(kernel):
            yield Padding(line, (0, 0, 0, 4))

    def _facts(self, kernel: KernelSummary) -> str:
        launches = kernel.launches
        which = f"launch {launches[0][1]}" if len(launches) == 1 else f"{len(launches)} launches"
        shapes = [self._shape(shape) for shape, _ in kernel.shapes.most_common(2)]
        more = f" and {len(kernel.shapes) - 2} other shapes" if len(kernel.shapes) > 2 else ""
        return f" {self._glyphs.dot} ".join([which, " or ".join(shapes) + more])

    def _shape(self, shape: LaunchShape) -> str:
        def volume(name: str, size: tuple[int, int, int]) -> str:
            used = size[:3] if size[2] > 1 else size[:2] if size[1] > 1 else size[:1]
            return f"{name} {self._glyphs.times.join(map(str, used))}"

        parts = [volume("grid", shape.grid), volume("block", shape.block)]
        if shape.cluster:
            parts.append(volume("cluster", shape.cluster))
        return ", ".join(parts)

    def _traffic(self, kernel: KernelSummary) -> RenderableType:
        table = _table(header=False)
        table.add_column(no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(no_wrap=True, ratio=1)
        width = self._width - 2 - 16 - 11 - 9 - 1
        for space in style.SPACES:
            labels = kernel.by_label(space)
            whole = labels.total()
            if not whole:
                continue
            table.add_row(
                Text(style.SPACE_NAMES[space], "bold"),
                Text(numbers.amount(whole), "bold"),
                "",
                Text(self._footprint(whole, labels["cold"]), "dim", overflow="ellipsis"),
            )
            for label in LABELS:
                if labels[label]:
                    table.add_row(
                        Text("  " + label, style.LABEL_STYLES[label]),
                        numbers.amount(labels[label]),
                        numbers.percent(labels[label], whole),
                        self._glyphs.bar(labels[label], whole, width, style.LABEL_STYLES[label]),
                    )
        return table

    def _footprint(self, whole: int, cold: int) -> str:
        if not cold:
            return ""
        return f"footprint {numbers.amount(cold)}, each byte {whole / cold:.3g}{self._glyphs.times}"

    def _accesses(self, console: Console, kernel: KernelSummary) -> Iterable[RenderableType]:
        listed = kernel.heaviest()
        shown = listed[: self._top] if self._top else listed
        title = "Program counters by bytes accessed"
        if len(shown) < len(listed):
            title += f" ({len(shown)} of {len(listed)}; --top 0 lists all)"
        yield Text("  " + title, "bold")
        indent = 4 if self._width >= WIDE else 2
        lines, remedy = self._lines(kernel, shown)
        table = accesses.table(kernel, shown, lines, console, width=self._width - indent, glyphs=self._glyphs)
        yield Padding(table, (0, 0, 0, indent))
        if remedy is not None:
            yield Padding(Text(f"No source lines: {style.printable(remedy)}.", "dim"), (0, 0, 0, indent))

    def _lines(
        self, kernel: KernelSummary, shown: Sequence[AccessSummary]
    ) -> tuple[dict[AccessKey, str], str | None]:
        """Source lines by access, and where there is none at all, why and what to do."""
        if self._locator is None:
            return {}, None
        lines: dict[AccessKey, str] = {}
        missing: Missing | None = None
        for access in shown:
            key = access.key
            found = self._locator.place(kernel.module, key.function, key.pc, kernel.mangled)
            if isinstance(found.frames, Missing):
                missing = missing or found.frames
            else:
                lines[key] = style.printable(found.frames[0].place)
        return lines, str(missing) if missing is not None and not lines else None

    def _legend(self, summary: Summary) -> RenderableType:
        present: set[LabelName] = {label for kernel in summary.kernels for label in kernel.by_label()}
        table = _table(header=False, expand=False)
        table.add_column(no_wrap=True)
        table.add_column()
        for label in LABELS:
            if label in present:
                table.add_row(Text(label, style.LABEL_STYLES[label]), Text(style.MEANINGS[label], "dim"))
        if any(access.asynchronous for kernel in summary.kernels for access in kernel.accesses.values()):
            table.add_row(Text("async, (a)"), Text(style.ASYNCHRONOUS, "dim"))
        return table


def _plural(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _table(*, header: bool = True, expand: bool = True) -> Table:
    return Table(box=None, show_header=header, header_style="dim", padding=(0, 1, 0, 0), expand=expand)
