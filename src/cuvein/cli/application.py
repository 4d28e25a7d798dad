"""The application: its commands, and how it ends."""

from __future__ import annotations

import errno
import os
import sys
from typing import Annotated

import typer

import cuvein
from cuvein import native
from cuvein.cli import analyze, check, demo, diff, doctor, messages, output, report, run, schema, trace
from cuvein.cli import open as open_page
from cuvein.collect.errors import CuveinError, Status
from cuvein.profile.errors import ProfileReadError, ProfileWriteError

__all__ = ["application", "main"]

# What only writing can run into.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)

application = typer.Typer(
    name="cuvein",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"cuvein {cuvein.__version__}")
        raise typer.Exit


@application.callback()
def _application(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Show which instructions of a GPU kernel touch the same data, and across which scope the reuse happens.

    Start with `cuvein doctor` (can it work here?) and `cuvein demo` (what does it
    show?), then `cuvein run -- PROGRAM ARGS` and `cuvein report FOLDER`.
    """


application.command(
    "run", context_settings={"allow_interspersed_args": False}, options_metavar="[OPTIONS] --"
)(run.run)
application.command("report")(report.report)
application.command("open")(open_page.open_report)
application.command("check")(check.check)
application.command("diff")(diff.diff)
application.command("analyze")(analyze.analyze)
application.command("doctor")(doctor.doctor)
application.command("demo")(demo.demo)
application.add_typer(trace.application, name="trace")
application.command("schema")(schema.schema)


def main() -> None:
    """Run the command line and end the process with its exit status."""
    output.prepare()
    try:
        try:
            application()
        finally:
            # Here a failure still has a sentence and a status; when Python ends it would not.
            if sys.stdout is not None:
                sys.stdout.flush()
    except CuveinError as error:
        _end(error.message, error.status)
    except ProfileReadError as error:
        _end(str(error), Status.UNREADABLE_INPUT)
    except ProfileWriteError as error:
        _end(str(error), Status.UNWRITABLE_OUTPUT)
    except native.NativeError as error:
        _end(str(error), Status.UNREADABLE_INPUT)
    except BrokenPipeError:
        output.give_up()
        sys.exit(output.CLOSED_PIPE)
    except OSError as error:
        output.give_up()
        where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        written = error.errno in _NO_ROOM
        _end(
            f"the system refuses to go on: {where}{(error.strerror or str(error)).lower()}.",
            Status.UNWRITABLE_OUTPUT if written else Status.UNREADABLE_INPUT,
        )


def _end(sentence: str, status: Status) -> None:
    messages.say(f"error: {sentence}")
    sys.exit(int(status))
