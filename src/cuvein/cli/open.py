"""``cuvein open``: the browser report, in the browser."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from cuvein.cli import messages
from cuvein.cli.paths import Paths
from cuvein.cli.report import Chosen
from cuvein.report.html import write_report

__all__ = ["open_report"]

NAME = "report.html"


def open_report(
    paths: Paths,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to keep the page.",
            show_default="report.html in the folder, else in a temporary one",
        ),
    ] = None,
    source_root: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="Where to look for source files that are not where they were compiled. May be repeated.",
        ),
    ] = None,
) -> None:
    """Make the browser report and show it in a browser.

    The page is one file that needs no network; it can be sent to somebody else.
    """
    file = output or _place(paths)
    profiles = Chosen(paths)
    write_report(profiles, paths, file, roots=source_root or ())
    messages.say(f"the report is {file}")
    if not webbrowser.open(file.absolute().as_uri()):
        messages.say("there is no browser here; open the file where there is one")
    raise typer.Exit(int(profiles.status()))


def _place(paths: list[Path]) -> Path:
    if len(paths) == 1 and paths[0].is_dir():
        try:
            with tempfile.TemporaryFile(dir=paths[0]):
                return paths[0] / NAME
        except OSError:
            # The folder is somebody else's, or on a disk that is full.
            pass
    return Path(tempfile.mkdtemp(prefix="cuvein-")) / NAME
