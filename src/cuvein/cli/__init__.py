"""The command line; each command is one module."""

from __future__ import annotations

import signal

__all__ = ["main"]

_FOR_THE_MAIN_THREAD = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


def main() -> None:
    """Run the command line and end the process with its exit status."""
    # Libraries start threads while they are loaded (numpy does). A thread that took a signal meant for the
    # program under test would end cuvein instead, and it keeps the mask that it was born with.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _FOR_THE_MAIN_THREAD)
    from cuvein.cli import application  # noqa: PLC0415 (see above)

    def loaded() -> None:
        ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if ours:
            # Ctrl-C while modules were loaded ends the process here, without a traceback.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    application.main(loaded)
