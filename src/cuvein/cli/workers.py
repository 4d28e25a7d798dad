"""How many workers may be asked for."""

from __future__ import annotations

import typer

from cuvein.collect.configuration import MOST_WORKERS

__all__ = ["useful"]


def useful(workers: int) -> int:
    """Take a number of workers for ``--workers``; one that only takes memory is wrong usage."""
    if workers > MOST_WORKERS:
        raise typer.BadParameter(
            f"{workers:,} workers would take memory and bring nothing here; "
            f"give at most {MOST_WORKERS}, or 0 for one a processor."
        )
    return workers
