"""What the command lines of the benchmarks share.

What makes no sense or is missing is told in one sentence, and the exit status is 2, as for wrong usage.
Nothing but Python is needed here: ``operators.py`` may run under another one than cuvein's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "added_to",
    "demand_known",
    "duration",
    "give_up",
    "kept",
    "natural",
    "new_file",
    "share",
    "whole",
]

# Eleven days. The system cannot wait for more than twice as long.
LONGEST = 1_000_000


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Make a ``type`` of option that takes whole numbers from ``least`` up, or up to ``most``."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            until = "up" if most is None else f"to {most}"
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} {until}")
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


def new_file(text: str) -> Path:
    """Take a file that can be written, as ``type`` of an option: known before anything is measured."""
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a folder, not a file to write")
    near = path if path.exists() else next(each for each in path.absolute().parents if each.exists())
    if not os.access(near, os.W_OK) or (near != path and not near.is_dir()):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be written")
    return path


def added_to(text: str) -> Path:
    """Take a file that can be written and holds a JSON object, if it is there, as ``type`` of an option."""
    path = new_file(text)
    if path.exists():
        _object(text)
    return path


def kept(*parts: str) -> Callable[[str], dict[str, Any]]:
    """Make a ``type`` of option that reads a result, each program of which has parts such as ``a or b``."""

    def read(text: str) -> dict[str, Any]:
        result = _object(text)
        programs = result.get("programs")
        known = isinstance(programs, list) and all(isinstance(each, dict) for each in programs)
        if not known or not {"machine", "seconds", "failed"} <= result.keys():
            raise argparse.ArgumentTypeError(f"{text!r} is no result of programs")
        for program in programs or ():
            if lacking := [part for part in parts if program.keys().isdisjoint(part.split(" or "))]:
                why = f"a program in it has no {lacking[0]}"
                raise argparse.ArgumentTypeError(f"{text!r} is no result of this benchmark: {why}")
        return result

    return read


def demand_known(parser: argparse.ArgumentParser, asked: Iterable[str], known: Iterable[str]) -> None:
    """End the program as wrong usage does, if something is asked for that there is not."""
    names = list(known)
    if unknown := sorted(set(asked) - set(names)):
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(names)}")


def give_up(parser: argparse.ArgumentParser, missing: str) -> NoReturn:
    """End the program, because something is missing here; ``missing`` says what, without a full stop."""
    parser.exit(2, f"{parser.prog.removesuffix('.py')}: {missing}\n")


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(Path(text).read_text())
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be read: {error.strerror}") from None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"{text!r} holds no JSON object")
    return found


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
