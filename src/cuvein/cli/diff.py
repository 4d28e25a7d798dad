"""``cuvein diff``: what changed between two builds."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from cuvein.cli import messages, output
from cuvein.cli.check import rules_of
from cuvein.cli.paths import Found, find_profiles
from cuvein.collect.errors import CuveinError, Status
from cuvein.findings.comparison import Comparison, Run, compare, read_run
from cuvein.findings.locating import LinesBeside
from cuvein.patterns import Thresholds
from cuvein.report.diff import diff_text
from cuvein.report.diff_document import diff_document
from cuvein.report.findings_document import encode

__all__ = ["Format", "diff"]


class Format(str, enum.Enum):
    """Kinds of comparison."""

    TEXT = "text"
    JSON = "json"


def diff(
    before: Annotated[
        Path, typer.Argument(metavar="BEFORE", help="Folder of profiles, or one profile.", show_default=False)
    ],
    after: Annotated[
        Path, typer.Argument(metavar="AFTER", help="The same of the other build.", show_default=False)
    ],
    threshold: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Change a threshold. May be repeated.")
    ] = None,
    format: Annotated[Format, typer.Option(help="Text for people, JSON for programs.")] = Format.TEXT,  # noqa: A002
    output_file: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the comparison there.")
    ] = None,
) -> None:
    """Compare two builds: which traffic and findings went away, appeared or moved to another scope.

    Kernels are matched by name, instructions by source line where known, else by structure; amounts are for
    one launch. Exit statuses: 0; 2 wrong usage; 120 no profiles, or no kernel in common; 121 a profile is
    incomplete, or launches were left out; 123 an input cannot be read; 124 the output cannot be written.
    """
    thresholds = rules_of(None, None, threshold).thresholds
    sides = [find_profiles([path]) for path in (before, after)]
    comparison = compare(_run(before, sides[0], thresholds), _run(after, sides[1], thresholds))
    if not comparison.kernels:
        ones = output.listed([kernel.name for kernel in comparison.before.kernels])
        others = output.listed([kernel.name for kernel in comparison.after.kernels])
        raise CuveinError(
            Status.NOTHING_PROFILED, f"no kernel is in both: {before} has {ones}; {after} has {others}."
        )
    if format is Format.JSON:
        text = encode(diff_document(comparison))
    else:
        text = diff_text(comparison) if output_file is not None else diff_text(comparison, output.width())
    if output_file is not None:
        output.write_file(output_file, text)
    else:
        output.send(text)
    raise typer.Exit(_status(comparison, any(side.some_left_out for side in sides)))


def _run(path: Path, found: Found, thresholds: Thresholds) -> Run:
    return read_run(found.profiles, thresholds, LinesBeside([path]))


def _status(comparison: Comparison, some_left_out: bool) -> int:
    incomplete = [*comparison.before.report.incomplete, *comparison.after.report.incomplete]
    for sentence in incomplete:
        messages.warn(f"incomplete: {sentence}")
    return int(Status.INCOMPLETE if incomplete or some_left_out else Status.OK)
