"""Running the program so that it cannot tell the difference.

It gets this process's standard streams, inherited descriptors, process group and terminal. Signals meant for
it are passed on, its exit status is returned.
"""

from __future__ import annotations

import errno
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from cuvein.collect.errors import CuveinError, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["FORWARDED", "Ending", "run"]

FORWARDED = {
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
}
# The kernel's own si_code: Ctrl-C and Ctrl-\ come from the terminal, which signals the program as well.
SI_KERNEL = 0x80


class Ending(NamedTuple):
    """How the program ended: its exit status, or the signal that ended it."""

    pid: int
    status: int
    signal: int | None = None

    @property
    def shell_status(self) -> int:
        """The status a shell would report, 128 + n for signal n."""
        return self.status if self.signal is None else 128 + self.signal


def run(
    path: str,
    arguments: Sequence[str],
    environment: Mapping[bytes, bytes],
    started: Callable[[], None] = lambda: None,
) -> Ending:
    """Run a program to its end.

    Parameters
    ----------
    path
        File to execute.
    arguments
        Its arguments, the program's own name first.
    environment
        Its environment.
    started
        Called when it runs. Signals for it are passed on when that is done.

    Raises
    ------
    CuveinError
        The system refuses to execute the file.
    """
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        # Inherited from a careless parent; the program's status would be lost with it.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    watched = FORWARDED | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        pid = _spawn(path, arguments, environment, before)
        with suppress(Exception):
            # The program runs on whatever happens here; what is needed later will fail again.
            started()
        while True:
            reaped, status = os.waitpid(pid, os.WNOHANG)
            if reaped:
                # What arrived for the program too late must not end cuvein before it has told of the run.
                while signal.sigtimedwait(watched, 0):
                    pass
                return _ending(pid, status)
            received = signal.sigwaitinfo(watched)
            if received.si_signo in FORWARDED and received.si_code != SI_KERNEL:
                _forward(pid, received.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _spawn(
    path: str, arguments: Sequence[str], environment: Mapping[bytes, bytes], mask: set[signal.Signals | int]
) -> int:
    def spawn(file: str, words: list[str]) -> int:
        # The interpreter ignores these two; a program expects the default.
        return os.posix_spawn(
            file, words, environment, setsigmask=mask, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ]
        )

    try:
        try:
            return spawn(path, list(arguments))
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            # A script without a "#!" line: shells and execvp(3) give it to sh.
            return spawn("/bin/sh", ["sh", path, *arguments[1:]])
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise CuveinError(
                Status.NOT_FOUND, f"cannot execute {path!r}: its interpreter is missing"
            ) from None
        raise CuveinError(Status.NOT_EXECUTABLE, f"cannot execute {path!r}: {error.strerror}") from None
    except ValueError as error:
        raise CuveinError(Status.USAGE, f"cannot pass the arguments on: {error}") from None


def _forward(pid: int, number: int) -> None:
    # It may just have ended, or have taken another user's rights; there is nobody to tell.
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _ending(pid: int, status: int) -> Ending:
    if os.WIFSIGNALED(status):
        return Ending(pid, 128 + os.WTERMSIG(status), os.WTERMSIG(status))
    return Ending(pid, os.WEXITSTATUS(status))
