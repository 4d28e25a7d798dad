"""``cuvein report``: read profiles in the terminal."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from cuvein.cli import messages, output
from cuvein.cli.paths import Paths, find_profiles
from cuvein.cli.views import View, view
from cuvein.collect.errors import CuveinError, Status
from cuvein.findings.locating import LinesBeside
from cuvein.profile.model import LaunchProfile
from cuvein.profile.reading import read_all
from cuvein.report import Report
from cuvein.report.by_finding import FindingDocument, FindingReport
from cuvein.report.document import DocumentReport
from cuvein.report.html import write_report
from cuvein.report.listing import Listing
from cuvein.report.terminal import TerminalReport
from cuvein.source import Locator

__all__ = ["Chosen", "Format", "make", "plain", "report"]


class Format(str, enum.Enum):
    """Kinds of report."""

    TEXT = "text"
    JSON = "json"


def report(
    paths: Paths,
    kernel: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="Only kernels whose demangled or mangled name holds a match."),
    ] = None,
    launch: Annotated[
        list[int] | None,
        typer.Option(metavar="N", min=1, help="Only the launch with this number. May be repeated."),
    ] = None,
    top: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Program counters, lines, objects or so; 0: all."),
    ] = 10,
    by: Annotated[View, typer.Option(help="What the accesses are grouped by.")] = View.KERNEL,
    source_root: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            help="With --by line or --html: where to look for source files that are not where they were "
            "compiled. May be repeated.",
        ),
    ] = None,
    format: Annotated[Format, typer.Option(help="Text for people, JSON for programs.")] = Format.TEXT,  # noqa: A002
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the report for the browser instead: one page that needs no network. With a name that "
            "ends in .json, what the page shows, which the page opens too.",
        ),
    ] = None,
) -> None:
    """Show where the bytes of each kernel come from and which instructions touch them.

    Launches of the same kernel are added up. Colours are left out where the output is no terminal or NO_COLOR
    is set. What is there is shown; the exit status is 121 when a profile is incomplete or launches were left
    out.
    """
    if source_root and html is None and by is not View.LINE:
        raise typer.BadParameter(
            f"--source-root is of no use with --by {by.value}, which shows no source text; "
            "give it with --by line or --html."
        )
    if html is not None:
        if by is not View.KERNEL or format is not Format.TEXT:
            unused = f"--by {by.value}" if by is not View.KERNEL else f"--format {format.value}"
            raise typer.BadParameter(
                f"{unused} is of no use with --html, which writes the page for the browser; leave one out."
            )
        profiles = Chosen(paths, kernel, launch)
        write_report(profiles, paths, html, roots=source_root or ())
        raise typer.Exit(int(profiles.status()))
    if by is View.KERNEL:
        made = make(paths, format, top)
    elif by is View.FINDING:
        made = _findings(paths, format, top)
    else:
        listing = Listing(**_appearance(), top=top) if format is Format.TEXT else None
        made = view(by, listing, paths, roots=source_root or (), check=True)
    profiles = Chosen(paths, kernel, launch)
    output.send(made.render(profiles))
    raise typer.Exit(int(profiles.status()))


def make(paths: list[Path], format: Format, top: int) -> Report:  # noqa: A002
    """Make the report by kernel that fits where standard output goes."""
    if format is Format.JSON:
        return DocumentReport()
    return TerminalReport(**_appearance(), top=top, locator=Locator.beside(*paths, sass=False))


def plain(path: Path) -> Report:
    """Make the report for a file."""
    return TerminalReport(locator=Locator.beside(path, sass=False))


def _findings(paths: list[Path], format: Format, top: int) -> Report:  # noqa: A002
    locate = LinesBeside(paths)
    if format is Format.JSON:
        return FindingDocument(locate)
    return FindingReport(locate, **_appearance(), top=top)


class _Appearance(TypedDict):
    width: int
    colour: bool
    unicode: bool


def _appearance() -> _Appearance:
    unicode = output.encoding().startswith("utf")
    return {"width": output.width(), "colour": output.coloured(), "unicode": unicode}


class Chosen:
    """The profiles that paths, a pattern and launch numbers choose, read as they are asked for.

    Raises
    ------
    CuveinError
        When there is none; at the end of the reading when none matches.
    """

    def __init__(
        self, paths: list[Path], kernel: str | None = None, launches: list[int] | None = None
    ) -> None:
        try:
            self._expression = re.compile(kernel) if kernel is not None else None
        except re.error as error:
            raise typer.BadParameter(f"--kernel: {error}") from None
        self._launches = launches
        self._found = find_profiles(paths)
        self._incomplete: list[tuple[int, str]] = []

    def __iter__(self) -> Iterator[LaunchProfile]:
        """Read them, once."""
        seen: dict[str, None] = {}
        count = 0
        for profile in read_all(*self._found.profiles):
            name, sequence = profile.launch.kernel, profile.launch.sequence
            seen[f"{sequence}: {name.name}"] = None
            if self._launches and sequence not in self._launches:
                continue
            if self._expression and not any(map(self._expression.search, (name.name, name.mangled))):
                continue
            count += 1
            if profile.incomplete is not None:
                self._incomplete.append((sequence, profile.incomplete))
            yield profile
        if not count:
            listed = list(seen)[:20]
            more = f" and {len(seen) - len(listed)} more" if len(seen) > len(listed) else ""
            raise CuveinError(
                Status.NOTHING_PROFILED,
                f"no launch matches; the profiles hold these launches: {'; '.join(listed)}{more}",
            )

    def status(self) -> Status:
        """Warn where something is missing of what was read, and return the exit status that says so."""
        if self._incomplete:
            sequence, sentence = self._incomplete[0]
            messages.warn(f"incomplete: launch {sequence}: {sentence}")
            if more := len(self._incomplete) - 1:
                messages.warn(f"incomplete: {more} more")
        missing = self._incomplete or self._found.some_left_out
        return Status.INCOMPLETE if missing else Status.OK
