"""The command line, run in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.cli.application import main

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


def command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs cuvein and returns exit status, standard output and standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["cuvein", *map(str, arguments)])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(bool(end.code))
        out, err = capsys.readouterr()
        return status, out, err

    return run
