"""Numbers as people read them."""

from __future__ import annotations

__all__ = ["amount", "compact", "count", "mean", "percent"]

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_DECIMAL = ("", "k", "M", "G", "T", "P")


def amount(number: int) -> str:
    """Write bytes with a binary unit and three significant digits: ``"1.50 GiB"``."""
    return _scaled(number, 1024, _BINARY)


def compact(number: int) -> str:
    """Write a count with three significant digits: ``"1.05M"``."""
    return _scaled(number, 1000, _DECIMAL).replace(" ", "")


def count(number: int) -> str:
    """Write a count in full: ``"1,048,576"``."""
    return f"{number:,}"


def mean(number: float) -> str:
    """Write an average: whole numbers without a fraction, others with one digit."""
    return f"{number:.0f}" if abs(number - round(number)) < 0.05 else f"{number:.1f}"


def percent(part: int, whole: int) -> str:
    """Write a share; what is there never shows as nothing, what is missing never as all."""
    if whole == 0 or part == 0:
        return "0 %"
    if part == whole:
        return "100 %"
    share = 100 * part / whole
    if share < 0.1:
        return "<0.1 %"
    if share > 99.9:
        return ">99.9 %"
    return f"{share:.1f} %"


def _scaled(number: int, base: int, units: tuple[str, ...]) -> str:
    value = float(number)
    for unit in units[:-1]:
        # 999.6 would round to "1000", which has its own unit.
        if value < base - 0.5:
            if unit == units[0]:
                return f"{number} {unit}"
            digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{digits}f} {unit}"
        value /= base
    return f"{value:,.0f} {units[-1]}"
