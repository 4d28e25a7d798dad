"""``cuvein doctor``: find out whether it can work here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from cuvein.cli import output
from cuvein.collect import doctor as checks
from cuvein.collect import installation, selftest
from cuvein.collect.errors import Status
from cuvein.collect.finding import Finding, Severity
from cuvein.report.printing import printed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

__all__ = ["doctor"]

_STYLES = {
    Severity.OK: "green",
    Severity.NOTE: "cyan",
    Severity.WARNING: "yellow",
    Severity.PROBLEM: "bold red",
}


def doctor(
    self_test: Annotated[
        bool, typer.Option("--self-test/--no-self-test", help="Profile a tiny kernel where there is a GPU.")
    ] = True,
) -> None:
    """Check whether programs can be profiled on this machine, and say what to do if not.

    Ends with status 0 when they can and 122 when they cannot.
    """
    problem = False
    for finding in _findings(self_test=self_test):
        problem |= finding.severity is Severity.PROBLEM
        _tell(finding)
    if problem:
        output.send("Programs cannot be profiled here; recordings of other machines can be read.\n")
        raise typer.Exit(int(Status.CANNOT_PROFILE))
    output.send("Programs can be profiled here.\n")


def _findings(*, self_test: bool) -> Iterable[Finding]:
    installed = checks.check_installation()
    yield from installed
    answer = checks.probe()
    driver = checks.check_versions(answer, installation.wheel_version(installation.SANITIZER_WHEEL))
    yield driver
    gpus = checks.check_gpus(answer) if answer.version is not None else []
    yield from gpus
    yield from checks.check_environment(os.environ)
    usable = all(finding.severity is not Severity.PROBLEM for finding in [*installed, driver, *gpus])
    if not usable:
        yield Finding("self-test", Severity.NOTE, "left out, for the problems above")
    elif self_test:
        yield selftest.run()


def _tell(finding: Finding) -> None:
    """Show a finding at once: the self-test, which comes last, takes a while."""

    def show(console: Console) -> None:
        text = Text(f"{finding.severity.value:8}", _STYLES[finding.severity])
        text.append(f"{finding.subject:19}", "bold")
        text.append(finding.text, "")
        console.print(text, soft_wrap=True)
        if finding.remedy:
            console.print(Text(f"{'':27}{finding.remedy}"), soft_wrap=True)

    unicode = output.encoding().startswith("utf")
    output.send(printed(show, output.width(), colour=output.coloured(), unicode=unicode))
