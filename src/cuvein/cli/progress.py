"""Progress of long work, on standard error and only for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["bytes_done"]


@contextmanager
def bytes_done(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar while the block runs; it gets a function that takes bytes done and bytes in all.

    Without a terminal the function does nothing.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    columns = (
        TextColumn(f"cuvein: {title}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield show
