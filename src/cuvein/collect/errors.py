"""Exit statuses of cuvein and the error that carries one."""

from __future__ import annotations

import enum

__all__ = ["CuveinError", "Status"]


class Status(enum.IntEnum):
    """Exit statuses that are cuvein's own; ``docs/command-line.md`` lists them for users."""

    OK = 0
    USAGE = 2
    NOTHING_PROFILED = 120
    INCOMPLETE = 121
    CANNOT_PROFILE = 122
    UNREADABLE_INPUT = 123
    UNWRITABLE_OUTPUT = 124
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127


class CuveinError(Exception):
    """Something the user has to know and can act on: one sentence, and the status to end with.

    Parameters
    ----------
    status
        What the command exits with.
    message
        What is wrong and what to do about it.
    """

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
