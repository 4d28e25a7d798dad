"""Text of the reports that list groups of accesses: heading, details, and rows of numbers."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cuvein.report import numbers, style
from cuvein.report.accesses import mostly_cell, ratio_cell
from cuvein.report.printing import MINIMUM_WIDTH, WIDE, printed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from cuvein.report.summary import Summary
    from cuvein.report.tally import AccessKind, Tally

__all__ = ["Group", "Listing", "Row", "Section", "kind_name"]


class Group(Protocol):
    """What is listed, by the bytes accessed."""

    @property
    def bytes(self) -> int: ...  # noqa: D102


AnyGroup = TypeVar("AnyGroup", bound=Group)


@dataclass(frozen=True)
class Row:
    """A line of numbers. ``shared`` says that its ratio is one of wavefronts, not of sectors."""

    name: str
    tally: Tally
    shared: bool = False


@dataclass(frozen=True)
class Section:
    """One group: what it is, more about it, and its accesses."""

    heading: Text
    details: Sequence[Text]
    rows: Sequence[Row]


def kind_name(kind: AccessKind) -> str:
    """Write a kind of access: ``"read global 4"``."""
    space = {"distributed_shared": "dshared"}.get(kind.space, kind.space)
    return f"{kind.type} {space} {kind.size}{' async' if kind.asynchronous else ''}"


class Listing:
    """Writes groups for a terminal or a pipe.

    Parameters
    ----------
    width
        Characters in a line, at least 60.
    colour
        Whether to send colours.
    unicode
        Whether the output can show other characters than ASCII.
    top
        How many groups to list; 0 for all.
    """

    def __init__(
        self, width: int = 100, *, colour: bool = False, unicode: bool = True, top: int = 10
    ) -> None:
        self._top = top
        self._width = max(width, MINIMUM_WIDTH)
        self._colour = colour
        self._unicode = unicode
        self._glyphs = style.Glyphs.choose(unicode=unicode)

    def shown(self, groups: Sequence[AnyGroup]) -> Sequence[AnyGroup]:
        """Give those of the groups that are listed."""
        return groups[: self._top] if self._top else groups

    def render(
        self,
        summary: Summary,
        title: str,
        groups: Sequence[AnyGroup],
        section: Callable[[AnyGroup, int], Section],
        notes: Sequence[str],
    ) -> str:
        """Write the report.

        Parameters
        ----------
        summary
            The launches it is about.
        title
            What is listed, in what order.
        groups
            All of them, in order.
        section
            Makes the section of a group, which it is given with the bytes of all groups.
        notes
            Sentences on what is missing.
        """
        whole = sum(group.bytes for group in groups)
        sections = [section(group, whole) for group in self.shown(groups)]

        def show(console: Console) -> None:
            self._print(console, summary, title, sections, len(groups))
            for note in notes:
                console.print(Text(f"Note: {style.printable(note)}.", "yellow"))

        return printed(show, self._width, colour=self._colour, unicode=self._unicode)

    def _print(
        self, console: Console, summary: Summary, title: str, sections: Sequence[Section], total: int
    ) -> None:
        launches, kernels = summary.launches, len(summary.kernels)
        facts = [
            f"{launches:,} launch{'' if launches == 1 else 'es'}",
            f"{kernels:,} kernel{'' if kernels == 1 else 's'}",
            style.printable(", ".join(summary.devices)),
        ]
        separator = f" {self._glyphs.dot} "
        console.print(Text("cuvein", "bold").append(separator + separator.join(facts), "not bold"))
        for words in list(dict.fromkeys(map(tuple, summary.programs.values())))[:1]:
            console.print(Text(style.printable(shlex.join(words)), "dim"))
        console.print()
        if len(sections) < total:
            title += f" ({len(sections)} of {total}; --top 0 lists all)"
        console.print(Text(title, "bold"))
        console.print()
        for section in sections:
            section.heading.truncate(self._width, overflow="ellipsis")
            console.print(section.heading)
            for detail in section.details:
                detail.truncate(self._width - 4, overflow="ellipsis")
                console.print(Padding(detail, (0, 0, 0, 4)))
            console.print(Padding(self._table(section), (0, 0, 0, 4)))
            console.print()

    def _table(self, section: Section) -> Table:
        wide = self._width >= WIDE
        table = Table(box=None, show_header=False, padding=(0, 2 if wide else 1, 0, 0))
        # The same widths in each group, so that the eye can run down.
        name = self._width - 4 - (71 if wide else 48)
        table.add_column(no_wrap=True, width=min(name, 40), overflow="ellipsis")
        for width in (6, 8, 6):
            table.add_column(justify="right", no_wrap=True, min_width=width)
        table.add_column(no_wrap=True, overflow="ellipsis")
        for row in section.rows:
            executions = row.tally.executions
            table.add_row(
                Text(style.printable(row.name)),
                Text(numbers.compact(executions) + self._glyphs.times if executions else self._glyphs.dash),
                Text(numbers.amount(row.tally.bytes)),
                ratio_cell(row.tally.ratio, self._glyphs, shared=row.shared),
                mostly_cell(row.tally.labels, row.tally.bytes, labels=2 if self._width >= WIDE else 1),
            )
        return table
