"""The application: its commands, and how it ends."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer
from typer.main import get_command

import cuvein
from cuvein.cli import ending, output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["build", "main"]

# In the order of the help. Each has a module of its name.
COMMANDS = ("run", "report", "open", "check", "diff", "analyze", "doctor", "demo", "trace", "schema")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"cuvein {cuvein.__version__}")
        raise typer.Exit


def _application(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Show which instructions of a GPU kernel touch the same data, and across which scope the reuse happens.

    Start with `cuvein doctor` (can it work here?) and `cuvein demo` (what does it
    show?), then `cuvein run -- PROGRAM ARGS` and `cuvein report FOLDER`.
    """


def build(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """Make the application with some of its commands, whose modules are imported."""
    application = typer.Typer(
        name="cuvein",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    application.callback()(_application)
    for name in commands:
        module = import_module(f"cuvein.cli.{name}")
        if name == "trace":
            application.add_typer(module.application, name=name)
        elif name == "run":
            settings = {"allow_interspersed_args": False}
            application.command(name, context_settings=settings, options_metavar="[OPTIONS] --")(module.run)
        else:
            application.command(name)(module.open_report if name == "open" else getattr(module, name))
    return application


def main(loaded: Callable[[], None] = lambda: None) -> None:
    """Run the command line and end the process with its exit status.

    Parameters
    ----------
    loaded
        Called when the modules of the command are loaded, before it runs.
    """
    output.prepare()
    # Starting is part of what `cuvein run` costs, so only the module of the command at hand is imported.
    word = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    needed = [word] if word in COMMANDS else [] if sys.argv[1:] == ["--version"] else COMMANDS

    def run() -> None:
        command = get_command(build(needed))
        loaded()
        try:
            command()
        except SystemExit as end:
            # Click ends with 1, which is what `check` says of a finding, where the reader of a help has gone.
            if isinstance(end.__context__, BrokenPipeError):
                raise end.__context__ from None
            raise

    ending.guard(run)
