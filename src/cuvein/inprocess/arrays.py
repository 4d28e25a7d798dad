"""Finding the arrays that the program has made, without changing how it makes them."""

from __future__ import annotations

import gc
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from .monitor import Monitor, load

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Arrays", "Facts", "of_process"]

# To look at everything takes a fiftieth of the time at most.
_PATIENCE = 50

# An array that asks for its memory right now was born so many objects ago at most.
_YOUNGEST = 64

_of_process: list[tuple[Monitor, Arrays]] = []


class Facts(NamedTuple):
    """An array that fills the memory it was given: address, bytes, type of an element, shape.

    ``alone`` says that this memory is an allocation for itself.
    """

    address: int
    bytes: int
    dtype: str
    shape: tuple[int, ...]
    alone: bool = False


def of_process() -> tuple[Monitor, Arrays]:
    """Give the monitor of this process and its arrays, which are looked at after each launch from now on.

    Raises
    ------
    OSError, KeyError
        There is no monitor.
    """
    if not _of_process:
        monitor = load()
        arrays = Arrays(monitor)
        monitor.after_launch(arrays.look_again)
        _of_process.append((monitor, arrays))
    return _of_process[0]


class Arrays:
    """Tells the monitor what new arrays are.

    Arrays are objects that the garbage collector follows, and it lists the youngest in the order of their
    birth. So a look needs to go through what was born since the look before only.

    Parameters
    ----------
    monitor
        Where to tell.
    """

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._kinds: dict[type, Callable[[object], Facts | None]] = {}
        self._mark: list[object] = []
        self._unnamed: set[int] = set()  # addresses
        self._next = 0.0  # when to look at everything
        self._lock = threading.Lock()
        # Without the GIL the collector has one generation, and to go through all of it costs too much.
        self._able = getattr(sys, "_is_gil_enabled", lambda: True)()

    def know(self, kind: type, facts: Callable[[object], Facts | None]) -> None:
        """Have arrays of exactly this type told, by what ``facts`` finds out (``None``: nothing).

        ``facts`` must not run code of the program and may raise.
        """
        self._kinds[kind] = facts

    def created(self, address: int, size: int) -> int:
        """Tell that the calling thread was given memory; see :meth:`Monitor.created`."""
        self._unnamed.add(address)
        return self._monitor.created(address, size)

    def name(self, found: Facts) -> None:
        """Tell what an array is."""
        tell = self._monitor.allocation if found.alone else self._monitor.named
        if found.bytes and tell(found.address, found.bytes, found.dtype, found.shape):
            self._unnamed.discard(found.address)

    def destroyed(self, address: int) -> None:
        """Tell that memory was given back."""
        self._unnamed.discard(address)
        self._monitor.destroyed(address)

    def youngest(self, wanted: Callable[[Any], bool]) -> Any:
        """Give the one object among the youngest that is wanted; ``None`` when there are others or none."""
        if not self._able:
            return None
        young = gc.get_objects(generation=0)[-_YOUNGEST:]
        found = [each for each in young if type(each) in self._kinds and wanted(each)]
        return found[0] if len(found) == 1 else None

    def look_again(self) -> None:
        """Look after a launch: at what is new, and now and then, if something has no name, at all there is.

        An array that is old may have got other memory, as parameters do that are moved to a GPU.
        """
        self.look()
        start = time.perf_counter()
        if (
            not self._able
            or not self._unnamed
            or start < self._next
            or not self._lock.acquire(blocking=False)
        ):
            return
        try:
            for array in self._all(gc.get_objects()):
                self._tell(array, self._kinds[type(array)])
        except Exception:
            pass
        finally:
            end = time.perf_counter()
            self._next = end + _PATIENCE * (end - start)
            self._lock.release()

    def look(self) -> None:
        """Tell what is new. Never raises and never waits."""
        if not self._able or not self._lock.acquire(blocking=False):
            return
        try:
            young = gc.get_objects(generation=0)
            arrays = self._newer_than_mark(young)
            if arrays is None:
                # A collection has moved what survived it, the mark too, and not in order.
                arrays = [*self._all(gc.get_objects(generation=1)), *self._all(young)]
            for array in arrays:
                self._tell(array, self._kinds[type(array)])
            self._mark = []
        except Exception:
            pass
        finally:
            self._lock.release()

    def _newer_than_mark(self, objects: list[object]) -> list[object] | None:
        """Give new arrays in the order of their birth, as views are younger than what they are views of."""
        found: list[object] = []
        for candidate in reversed(objects):
            if candidate is self._mark:
                return found[::-1]
            if type(candidate) in self._kinds:
                found.append(candidate)
        return None

    def _all(self, objects: list[object]) -> list[object]:
        return [candidate for candidate in objects if type(candidate) in self._kinds]

    def _tell(self, array: object, facts: Callable[[object], Facts | None]) -> None:
        try:
            found = facts(array)
            if found is not None:
                self.name(found)
        except Exception:
            pass
