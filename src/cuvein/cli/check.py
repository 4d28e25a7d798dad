"""``cuvein check``: fail a build when kernels waste memory traffic or race."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from cuvein.cli import messages, output
from cuvein.cli.paths import Paths, find_profiles
from cuvein.collect.errors import CuveinError, Status
from cuvein.findings import timing as timings
from cuvein.findings.analysis import Report, analyse
from cuvein.findings.baseline import Baseline, BaselineError, read_baseline
from cuvein.findings.checking import Verdict
from cuvein.findings.checking import check as judge
from cuvein.findings.locating import LinesBeside
from cuvein.findings.nsight_compute import NsightComputeError, read_timing
from cuvein.findings.rules import Rules, RulesError, read_rules
from cuvein.report.findings import verdict_text
from cuvein.report.findings_document import encode, verdict_document
from cuvein.report.junit import junit
from cuvein.report.sarif import sarif

__all__ = ["Format", "check", "rules_of"]

FINDINGS = 1
"""The exit status when a finding reaches the bar."""

_RULES = "What counts"
_OUTPUT = "What to write, and where"


class Format(str, enum.Enum):
    """Kinds of verdict."""

    TEXT = "text"
    SARIF = "sarif"
    JUNIT = "junit"
    JSON = "json"


def check(
    paths: Paths,
    rules: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Rules in TOML: fail-on, thresholds, ignore.", rich_help_panel=_RULES
        ),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="A severity (info, low, medium, high: that and above), a pattern, or never. Repeatable.",
            show_default="high",
            rich_help_panel=_RULES,
        ),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Change a threshold. May be repeated.", rich_help_panel=_RULES
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Findings in this file do not fail.", rich_help_panel=_RULES),
    ] = None,
    write_baseline: Annotated[
        bool,
        typer.Option(
            "--write-baseline",
            help="Write the present findings to the --baseline file and pass.",
            rich_help_panel=_RULES,
        ),
    ] = False,
    ncu: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Rank by time: a .ncu-rep, or the output of 'ncu --import REPORT --csv --page raw'.",
            rich_help_panel=_RULES,
        ),
    ] = None,
    format: Annotated[  # noqa: A002
        Format, typer.Option(help="Text for people; the others for CI.", rich_help_panel=_OUTPUT)
    ] = Format.TEXT,
    output_file: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the verdict there; people still get the text.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Findings to show in text; 0: all.", rich_help_panel=_OUTPUT),
    ] = 20,
) -> None:
    """Look for wasteful and dangerous memory accesses, and exit with 1 when a new finding reaches the bar.

    Exit statuses: 0 no new finding reaches the bar; 1 one does; 2 wrong usage or rules; 120 nothing was
    profiled; 121 no finding, but a profile is incomplete or left out; 123 an input cannot be read, or the
    baseline names kernels that were not profiled; 124 an output cannot be written.
    """
    if write_baseline:
        if baseline is None:
            raise typer.BadParameter("--write-baseline needs --baseline FILE.")
        _demand_replaceable(baseline)
    chosen = rules_of(rules, fail_on, threshold)
    known = Baseline() if baseline is None or write_baseline else _baseline(baseline)
    found = find_profiles(paths)
    report = analyse(found.profiles, chosen.thresholds, locate=LinesBeside(paths))
    _demand_accesses(report)
    unknown = known.unknown_kernels(report)
    if unknown:
        raise CuveinError(
            Status.UNREADABLE_INPUT,
            f"{baseline} names kernels that were not profiled: {output.listed(unknown)}; profile them, or "
            "write the baseline anew with --write-baseline.",
        )
    if ncu is not None:
        rank_by_time(report, ncu)
    verdict = judge(report, chosen, known)
    if write_baseline and baseline is not None:
        counted = [*verdict.failing, *verdict.below]
        output.write_file(baseline, Baseline.of(counted).encode().decode())
        messages.say(f"{len(counted):,} findings are in the baseline {baseline}")
        verdict = judge(report, chosen, Baseline.of(counted))
    _tell(verdict, format, output_file, top)
    raise typer.Exit(_status(verdict, found.some_left_out))


def rules_of(rules: Path | None, fail_on: list[str] | None, threshold: list[str] | None) -> Rules:
    """Read the rules; what is wrong with them is wrong usage."""
    try:
        return read_rules(rules, fail_on or (), threshold or ())
    except RulesError as error:
        raise CuveinError(Status.USAGE, str(error)) from None


def rank_by_time(report: Report, file: Path) -> None:
    """Rank a report's findings by what Nsight Compute measured."""
    try:
        unknown = timings.apply(report, read_timing(file))
    except NsightComputeError as error:
        raise CuveinError(Status.UNREADABLE_INPUT, str(error)) from None
    if unknown:
        messages.warn(
            f"{file} has no time for these kernels, which are ranked last: {output.listed(unknown)}"
        )


def _baseline(path: Path) -> Baseline:
    try:
        return read_baseline(path)
    except BaselineError as error:
        raise CuveinError(Status.UNREADABLE_INPUT, str(error)) from None


def _demand_replaceable(path: Path) -> None:
    """See that a baseline takes the place of nothing else, such as the rules."""
    try:
        if not path.is_file() or not path.stat().st_size:
            return
        read_baseline(path)
    except (OSError, BaselineError):
        raise CuveinError(
            Status.UNWRITABLE_OUTPUT,
            f"{path} holds something else than a baseline and was not replaced; choose another file for "
            "--baseline, or remove it",
        ) from None


def _demand_accesses(report: Report) -> None:
    if not report.totals.instructions:
        kernels = output.listed([summary.kernel.name for summary in report.kernels])
        if report.incomplete:
            raise CuveinError(
                Status.INCOMPLETE,
                f"no memory access is left in the profiles of {kernels}: {report.incomplete[0]}",
            )
        held = "launch holds" if report.profiles == 1 else f"{report.profiles:,} launches hold"
        raise CuveinError(
            Status.NOTHING_PROFILED, f"nothing was profiled: the {held} no memory access ({kernels})."
        )


def _tell(verdict: Verdict, format: Format, file: Path | None, top: int) -> None:  # noqa: A002
    text = verdict_text(verdict, output.width(), colour=output.coloured(), top=top)
    if format is Format.TEXT:
        document = verdict_text(verdict, top=0) if file is not None else text
    elif format is Format.SARIF:
        document = sarif(verdict)
    elif format is Format.JUNIT:
        document = junit(verdict)
    else:
        document = encode(verdict_document(verdict))
    if file is not None:
        output.write_file(file, document)
        document = text
    output.send(document)


def _status(verdict: Verdict, some_left_out: bool) -> int:
    if not verdict.passed:
        return FINDINGS
    return int(Status.INCOMPLETE if verdict.report.incomplete or some_left_out else Status.OK)
