"""``cuvein analyze``: replay a trace."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from cuvein.cli import messages, progress
from cuvein.cli.workers import useful
from cuvein.collect import output as folders
from cuvein.collect.errors import CuveinError, Status
from cuvein.collect.replay import Replay, replay

__all__ = ["analyze"]

_MOST = 10


def analyze(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE", help="A trace that 'cuvein run --trace' recorded.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Folder for the profiles.", show_default="cuvein-TRACE-N"
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=0, callback=useful, help="Threads to use; 0: one a processor.")
    ] = 0,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Replace the profiles that are in the folder.")
    ] = False,
) -> None:
    """Replay a recorded trace and write the launch profiles, with or without a GPU.

    The profiles are the same for any number of workers. Of a damaged trace everything before the damage is
    used.
    """
    folders.check_input(trace)
    with trace.open("rb") as file:
        if file.read(1) == b"{":
            raise CuveinError(
                Status.UNREADABLE_INPUT,
                f"{trace} is JSON and no trace; launch profiles are read by: "
                f"cuvein report {shlex.quote(str(trace))}",
            )
    folder = (
        folders.make_numbered(folders.name_for(trace.stem), Path())
        if output is None
        else folders.make(output, replace=force)
    )
    try:
        with progress.bytes_done(f"analysing {trace.name}") as show:
            done = replay(trace, folder, workers=workers, progress=show)
    except BaseException:
        folders.discard_if_empty(folder)
        raise
    raise typer.Exit(int(tell(done, folder)))


def tell(done: Replay, folder: Path) -> Status:
    """Say what came out of a replay; returns the exit status."""
    status = Status.OK
    if done.damage is not None:
        messages.say(f"the trace is damaged: {done.damage}")
        status = Status.INCOMPLETE if done.profiles else Status.UNREADABLE_INPUT
    for sequence, sentence in done.incomplete[:_MOST]:
        messages.say(f"incomplete: launch {sequence}: {sentence}")
    if len(done.incomplete) > _MOST:
        messages.say(f"incomplete: {len(done.incomplete) - _MOST} launches more")
    if done.incomplete and status is Status.OK:
        status = Status.INCOMPLETE
    if done.profiles:
        noun = "profile" if done.profiles == 1 else "profiles"
        messages.say(f"{done.profiles:,} {noun} in {folder}")
        messages.say(f"read them: cuvein report {shlex.quote(str(folder))}")
    else:
        folders.discard_if_empty(folder)
        if status is Status.OK:
            messages.say("the trace holds no launch, so there is nothing to write")
            status = Status.NOTHING_PROFILED
    return status
