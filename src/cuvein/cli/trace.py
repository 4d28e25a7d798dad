"""``cuvein trace``: what a trace holds."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from cuvein.cli import messages, output
from cuvein.collect.errors import Status
from cuvein.report import numbers
from cuvein.trace import LaunchSummary, Summary
from cuvein.trace import info as look_through
from cuvein.vocabulary import RecordKind

__all__ = ["application"]

application = typer.Typer(no_args_is_help=True)


@application.callback()
def _trace() -> None:
    """Look into traces."""


@application.command()
def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trace.", show_default=False)],
    launches: Annotated[int, typer.Option(metavar="N", min=0, help="Launches to list; 0: all.")] = 20,
) -> None:
    """Show what a trace holds: the program, its launches and their records. Nothing is analysed.

    Ends with status 123 when the trace is damaged, after showing what is whole.
    """
    summary = look_through(file)
    output.send("".join(f"{messages.printable(line)}\n" for line in _lines(summary, launches)))
    if summary.problem is not None:
        messages.say(f"error: {summary.problem}")
        raise typer.Exit(int(Status.UNREADABLE_INPUT))


def _lines(summary: Summary, most: int) -> list[str]:
    lines = []
    if summary.process is not None:
        process, versions = summary.process, summary.process.versions
        made_with = [f"cuvein {versions.cuvein}"]
        made_with += [f"Sanitizer API {versions.sanitizer}"] if versions.sanitizer else []
        made_with += [f"CUDA driver {versions.driver}"] if versions.driver else []
        lines.append(
            f"program    {shlex.join(process.arguments) or process.executable}, process {process.pid}"
        )
        lines.append(f"made with  {', '.join(made_with)}")
    each = f", {summary.stored_record_bytes / summary.records:.3g} bytes each" if summary.records else ""
    lines.append(f"file       {numbers.amount(summary.size)} in {numbers.count(summary.chunks)} chunks")
    lines.append(
        f"records    {numbers.count(summary.records)} in {numbers.amount(summary.stored_record_bytes)}{each}"
        f" ({numbers.amount(summary.record_bytes)} in memory)"
    )
    kinds: Counter[RecordKind] = Counter()
    for launch in summary.launches.values():
        kinds.update(launch.records)
    for kind, records in kinds.most_common():
        lines.append(f"           {numbers.count(records):>16}  {kind.name.lower().replace('_', ' ')}")
    size = numbers.amount(sum(summary.modules.values()))
    lines.append(f"modules    {len(summary.modules)}" + (f", {size}" if summary.modules else ""))
    lines.append(f"launches   {numbers.count(len(summary.launches))}")
    listed = list(summary.launches.values())
    lines += [_launch(launch) for launch in (listed[:most] if most else listed)]
    if most and len(listed) > most:
        lines.append(f"           and {numbers.count(len(listed) - most)} more (--launches 0 lists all)")
    return lines


def _launch(summary: LaunchSummary) -> str:
    launch = summary.launch
    grid, block = ("x".join(map(str, size)) for size in (launch.grid, launch.block))
    state = summary.incomplete or ("" if summary.ended else "its end is missing")
    return (
        f"  {launch.sequence:>7}  {launch.kernel.name}  grid {grid}  block {block}"
        f"  {numbers.count(sum(summary.records.values()))} records"
        + (f"  INCOMPLETE: {state}" if state else "")
    )
