"""How a command ends when something goes wrong: with a sentence and a status, never with a traceback."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

from cuvein.cli import messages, output
from cuvein.collect.errors import CuveinError, Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

__all__ = ["guard"]

# What only writing can run into.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)


def guard(command: Callable[[], None]) -> None:
    """Call a command; end the process where it fails for a reason that the user can act on."""
    try:
        try:
            command()
        finally:
            # Here a failure still has a sentence and a status; when Python ends it would not.
            if sys.stdout is not None:
                sys.stdout.flush()
    except CuveinError as error:
        _end(error.message, error.status)
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
    except Exception as error:
        status = _status(error)
        if status is None:
            raise
        _end(str(error), status)


def _status(error: Exception) -> Status | None:
    # What raised it has loaded these; a run that goes well needs none of them.
    from cuvein.native import NativeError  # noqa: PLC0415
    from cuvein.profile.errors import ProfileReadError, ProfileWriteError  # noqa: PLC0415

    if isinstance(error, (ProfileReadError, NativeError)):
        return Status.UNREADABLE_INPUT
    return Status.UNWRITABLE_OUTPUT if isinstance(error, ProfileWriteError) else None


def _end(sentence: str, status: Status) -> NoReturn:
    messages.say(f"error: {sentence}")
    sys.exit(int(status))
