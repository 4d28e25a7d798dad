"""What the command lines of the benchmarks share.

What makes no sense or is missing is told in one sentence, and the exit status is 2, as for wrong usage.
Nothing but Python is needed here: ``operators.py`` may run under another one than cuvein's.
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["demand_known", "duration", "give_up", "natural", "share", "whole"]

# Eleven days. The system cannot wait for more than twice as long.
LONGEST = 1_000_000


def whole(least: int) -> Callable[[str], int]:
    """Make a ``type`` of option that takes whole numbers from ``least`` up."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} up")
        return number

    return read


natural = whole(1)


def duration(text: str) -> float:
    """Read seconds above 0, as ``type`` of an option."""
    number = _real(text)
    if not 0 < number <= LONGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0 and up to {LONGEST}")
    return number


def share(text: str) -> float:
    """Read a number from 0 to 1, as ``type`` of an option."""
    number = _real(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 1")
    return number


def demand_known(parser: argparse.ArgumentParser, asked: Iterable[str], known: Iterable[str]) -> None:
    """End the program as wrong usage does, if something is asked for that there is not."""
    names = list(known)
    if unknown := sorted(set(asked) - set(names)):
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(names)}")


def give_up(parser: argparse.ArgumentParser, missing: str) -> NoReturn:
    """End the program, because something is missing here; ``missing`` says what, without a full stop."""
    parser.exit(2, f"{parser.prog.removesuffix('.py')}: {missing}\n")


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
