"""What the simulated microbenchmarks are written with."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cuvein.vocabulary import AccessType, Space
from harness.threads import ARRAY, Step, Thread, Touch

READ, WRITE, ATOMIC = AccessType.READ, AccessType.WRITE, AccessType.ATOMIC
INPUT, OUTPUT, OTHER, COUNTER = ARRAY, 2 * ARRAY, 3 * ARRAY, 4 * ARRAY
Steps = Iterator[Step]
Kernel = Callable[[Thread], Steps]
Make = Callable[..., Kernel]


def far(line: str, kind: AccessType, array: int, element: int, size: int = 4) -> Touch:
    return Touch(line, Space.GLOBAL, kind, array + size * element, size)


def near(line: str, kind: AccessType, element: int, size: int = 4) -> Touch:
    return Touch(line, Space.SHARED, kind, size * element, size)


def own(line: str, kind: AccessType, element: int, size: int = 4) -> Touch:
    return Touch(line, Space.LOCAL, kind, size * element, size)
