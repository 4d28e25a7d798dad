"""The command line; each command is one module."""

from __future__ import annotations

import signal

__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process with its exit status."""
    interrupted = signal.getsignal(signal.SIGINT)
    if interrupted is signal.default_int_handler:
        # Ctrl-C while modules are still being loaded ends the process without a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from cuvein.cli import application  # noqa: PLC0415 (see above)

    if interrupted is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupted)
    application.main()
