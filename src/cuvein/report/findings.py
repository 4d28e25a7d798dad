"""Findings as text: the view of ``cuvein report --by finding`` and the verdict of ``cuvein check``."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING

from cuvein.patterns import Effect, Severity
from cuvein.report import findings_words as words

if TYPE_CHECKING:
    from collections.abc import Sized

    from cuvein.findings.analysis import Report
    from cuvein.findings.checking import Verdict
    from cuvein.patterns import Finding

__all__ = ["findings_text", "verdict_text"]

_STYLES = {Severity.HIGH: "1;31", Severity.MEDIUM: "33", Severity.LOW: "36", Severity.INFO: "90"}
_PLACES = 6


def findings_text(report: Report, width: int = 100, *, colour: bool = False, top: int = 20) -> str:
    """Return the ranked findings of a run.

    Parameters
    ----------
    report
        The analysed run.
    width
        Characters in a line.
    colour
        Whether to colour the severities.
    top
        How many findings to show; 0 for all.
    """
    writer = _Writer(width, colour=colour)
    writer.line(_title(report))
    for sentence in report.incomplete:
        writer.paragraph(f"Incomplete: {words.printable(sentence)}")
    shown = report.findings[:top] if top else report.findings
    for number, finding in enumerate(shown, 1):
        writer.finding(finding, number)
    hidden = len(report.findings) - len(shown)
    if hidden:
        writer.line("")
        writer.line(f"{hidden:,} more; --top 0 shows all.")
    writer.notes(report)
    return writer.text()


def verdict_text(verdict: Verdict, width: int = 100, *, colour: bool = False, top: int = 20) -> str:
    """Return the verdict of a check: what fails in full, the rest by number."""
    writer = _Writer(width, colour=colour)
    writer.line(_title(verdict.report))
    for sentence in verdict.report.incomplete:
        writer.paragraph(f"Incomplete: {words.printable(sentence)}")
    shown = verdict.failing[:top] if top else verdict.failing
    for number, finding in enumerate(shown, 1):
        writer.finding(finding, number)
    writer.line("")
    if len(shown) < len(verdict.failing):
        writer.line(f"{len(verdict.failing) - len(shown):,} more; --top 0 shows all.")
    counts = [
        (len(verdict.failing), f"{_verb(verdict.failing, 'reaches', 'reach')} the bar ({verdict.bar})"),
        (len(verdict.below), f"{_verb(verdict.below, 'is', 'are')} below it"),
        (len(verdict.known), f"{_verb(verdict.known, 'is', 'are')} in the baseline"),
        (len(verdict.ignored), f"{_verb(verdict.ignored, 'is', 'are')} ignored by the rules"),
    ]
    writer.paragraph(
        "; ".join(f"{count:,} {what}" for count, what in counts if count or what.startswith("reach")) + "."
    )
    if verdict.gone:
        writer.paragraph(
            f"{len(verdict.gone):,} of the baseline {_verb(verdict.gone, 'is', 'are')} gone; write it anew "
            "with --write-baseline, so that what is gone cannot come back unseen."
        )
    writer.notes(verdict.report)
    writer.line(f"{writer.paint('passed', '32') if verdict.passed else writer.paint('FAILED', '1;31')}")
    return writer.text()


def _title(report: Report) -> str:
    severities = Counter(finding.severity for finding in report.findings)
    parts = [
        f"{severities[severity]:,} {severity.word}" for severity in reversed(Severity) if severities[severity]
    ]
    counted = f" ({', '.join(parts)})" if parts else ""
    return (
        f"{_plural(report.profiles, 'launch', 'launches')}, "
        f"{_plural(len({each.kernel.mangled for each in report.kernels}), 'kernel', 'kernels')}, "
        f"{_plural(len(report.findings), 'finding', 'findings')}{counted}"
    )


def _verb(found: Sized, one: str, many: str) -> str:
    return one if len(found) == 1 else many


def _plural(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


class _Writer:
    """Collects wrapped lines."""

    def __init__(self, width: int, *, colour: bool) -> None:
        self._width = max(40, width)
        self._colour = colour
        self._lines: list[str] = []

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self._colour else text

    def line(self, text: str) -> None:
        self._lines.append(text)

    def paragraph(self, text: str, indent: int = 0, hanging: int = 0) -> None:
        self._lines += textwrap.wrap(
            text,
            self._width,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hanging),
            break_long_words=False,
            break_on_hyphens=False,
        )

    def notes(self, report: Report) -> None:
        """Write what is not known, and why, below an empty line."""
        notes = words.lines_missing(report.lines_missing)
        if not report.barriers_followed:
            notes.append(words.BARRIERS_NOT_FOLLOWED)
        for number, note in enumerate(notes):
            if number == 0:
                self.line("")
            self.paragraph(f"Note: {words.printable(note)}.")

    def finding(self, finding: Finding, number: int) -> None:
        severity = self.paint(finding.severity.word.upper(), _STYLES[finding.severity])
        self.line("")
        self.line(f"{number:>3}  {severity}  {self.paint(words.heading(finding), '1')}  [{finding.pattern}]")
        launches = (
            f"{finding.launches} of {finding.of_launches} launches"
            if finding.launches != finding.of_launches
            else _plural(finding.launches, "launch", "launches")
        )
        self.paragraph(
            f"{words.printable(finding.kernel.name)}, {words.shape(finding.kernel)}, {launches}", 5, 2
        )
        for sentence in words.launched(finding):
            self.paragraph(sentence, 5, 4)
        self._places(finding)
        data = words.data(finding)
        if data:
            self.paragraph(data, 5, 4)
        for sentence in (finding.summary, words.action(finding), words.time(finding)):
            if sentence:
                self.paragraph(sentence, 5)
        self.paragraph(f"Do: {finding.mechanism}", 5, 4)
        self.paragraph(f"But: {finding.caveat}", 5, 5)

    def _places(self, finding: Finding) -> None:
        race = finding.effect is Effect.CORRECTS
        groups = words.copies(finding)
        for position, places in enumerate(groups[:_PLACES]):
            lead = "after " if race and position else "at "
            where = words.location(places[0], finding.kernel, more=len(places) - 1)
            self.paragraph(f"{lead}{words.printable(where)}: {words.instruction(places[0])}", 5, 4)
        more = sum(map(len, groups[_PLACES:]))
        if more:
            self.line(f"     and {_plural(more, 'instruction', 'instructions')} more")

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._lines) + "\n"
