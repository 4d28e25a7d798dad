"""How the patterns' sentences write numbers."""

from __future__ import annotations

__all__ = ["amount", "percent"]

_STEP = 1024


def percent(share: float) -> str:
    """Write a share: ``96.9 %``; never 100 % for less than all, nor 0 % for more than nothing."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    return f"{share * 100:.1f} %".replace(".0 %", " %")


def amount(count: int) -> str:
    """Write a number of bytes with a binary unit: ``1.5 MiB``."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if size < _STEP or unit == "TiB":
            break
        size /= _STEP
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
