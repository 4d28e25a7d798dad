"""Reading the small files that people name: pipes are fine, what never ends is not."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_bytes"]

_MOST = 64 << 20


def read_bytes(path: Path, most: int = _MOST) -> bytes:
    """Read a file, a device or a pipe to its end.

    Raises
    ------
    OSError
        It cannot be read, or holds more than ``most`` bytes: a device may have no end.
    """
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it holds more than {most:,} bytes")
    return data
