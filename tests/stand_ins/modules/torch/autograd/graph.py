"""Where PyTorch waits for a backward pass."""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _engine_run_backward(work: Callable[[], None]) -> None:
    done = allocate_lock()
    done.acquire()

    def thread() -> None:
        work()
        done.release()

    start_new_thread(thread, ())
    done.acquire()
