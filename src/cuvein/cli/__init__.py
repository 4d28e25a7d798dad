"""The command line; each command is one module."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from cuvein.collect.process import FORWARDED

if TYPE_CHECKING:
    from collections.abc import Callable

    from cuvein.cli.running import Options

__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process with its exit status."""
    # Libraries start threads while they are loaded (numpy does). A thread that took a signal meant for the
    # program under test would end cuvein instead, and it keeps the mask that it was born with.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)

    def loaded() -> None:
        ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if ours:
            # Ctrl-C while modules were loaded ends the process here, without a traceback.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    # Starting is part of what `cuvein run` costs.
    if sys.argv[1:2] == ["run"]:
        from cuvein.cli import quick  # noqa: PLC0415 (see above)

        options = quick.parse(sys.argv[2:])
        if options is not None:
            _run(options, loaded)
    from cuvein.cli import application  # noqa: PLC0415

    application.main(loaded)


def _run(options: Options, loaded: Callable[[], None]) -> None:
    """Run the program and end the process; return if the options make no sense, which others say better."""
    from cuvein.cli import ending, output, running  # noqa: PLC0415

    output.prepare()
    loaded()
    status = []
    try:
        ending.guard(lambda: status.append(running.run(options)))
    except running.MisuseError:
        return
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
    # To take the interpreter down takes longer than all there was to do after the program's end.
    os._exit(status[0])
