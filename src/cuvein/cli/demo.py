"""``cuvein demo``: the example, profiled here or replayed."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Annotated

import typer

from cuvein.cli import analyze, messages, progress, report, summary
from cuvein.cli.output import send, write_file
from cuvein.collect import example
from cuvein.collect import output as folders
from cuvein.collect.errors import CuveinError, Status
from cuvein.collect.launch import Request, launch
from cuvein.collect.replay import replay
from cuvein.profile.errors import ProfileWriteError, reason
from cuvein.profile.reading import read_all

__all__ = ["demo"]


def demo(
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Folder for the trace, the profiles and the report; an earlier demo in it is replaced.",
        ),
    ] = Path("cuvein-demo"),
) -> None:
    """Profile a softmax kernel, or replay its recording where there is no GPU, and print the report."""
    profiles = output / "profiles"
    trace = output / "softmax.cvt"
    report_file = output / "report.txt"
    _check(profiles, trace, report_file, output / example.NAME)
    why_not = example.obstacle()
    if why_not is None:
        folders.make(profiles, replace=True)
        status = _live(profiles, trace)
    else:
        recording = example.recording()
        messages.say(f"replaying the recording of the example: {why_not}")
        folders.make(profiles, replace=True)
        status = _recorded(recording, profiles, trace)
    if status is Status.OK or any(profiles.glob("process-*/launch-*.json")):
        text = report.make([profiles], report.Format.TEXT, top=10).render(read_all(profiles))
        plain = report.plain(profiles).render(read_all(profiles))
        write_file(report_file, plain)
        send(text)
        messages.say(f"trace, profiles and report.txt are in {output}")
        messages.say(f"what to change: cuvein report --by finding {shlex.quote(str(profiles))}")
    raise typer.Exit(int(status))


def _check(profiles: Path, *files: Path) -> None:
    """See that what would be replaced is an earlier demo's: that has made the folder and then its trace."""
    try:
        there = [file for file in files if file.exists()]
        some = profiles.exists() and (not profiles.is_dir() or any(profiles.iterdir()))
        earlier = profiles.is_dir() and (not some or files[0].is_file())
    except OSError as error:
        raise ProfileWriteError(f"{profiles.parent} cannot be written: {reason(error)}") from None
    if not earlier and (some or there):
        raise CuveinError(
            Status.UNWRITABLE_OUTPUT,
            f"{profiles if some else there[0]} is there already and not of a demo; choose another --output",
        )


def _live(profiles: Path, trace: Path) -> Status:
    program = example.build(profiles.parent)
    request = Request(str(program.absolute()), example.ARGUMENTS, output=profiles, force=True, trace=trace)
    result = launch(request, messages.warn)
    told = summary.of_run(request, result)
    for line in told.lines:
        messages.say(line)
    if result.ending.shell_status:
        raise CuveinError(
            Status.CANNOT_PROFILE, f"the example ended with status {result.ending.shell_status}"
        )
    return told.status


def _recorded(recording: Path, profiles: Path, trace: Path) -> Status:
    try:
        shutil.copyfile(recording, trace)
    except OSError as error:
        raise ProfileWriteError(f"{trace} cannot be written: {reason(error)}") from None
    with progress.bytes_done("replaying") as show:
        done = replay(trace, profiles, progress=show)
    return analyze.tell(done, profiles)
