"""Charts as SVG, for pages that are made of results: bars on a logarithmic scale, and lines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Bar", "Line", "bars", "lines"]

# Told apart by people who see colours differently, on white and on grey paper (Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
FONT = 'font-family="system-ui, sans-serif" font-size="12"'
INK, FAINT = "#222222", "#cccccc"


@dataclass(frozen=True)
class Bar:
    """One row: its label and a value for each series; ``None`` is written as ``missing``."""

    label: str
    values: Sequence[float | None]
    missing: str = "not measured"


@dataclass(frozen=True)
class Line:
    """One line: its name and its points, x ascending; ``ideal`` is drawn faint and dashed."""

    name: str
    points: Sequence[tuple[float, float]]
    ideal: bool = False


def bars(
    rows: Sequence[Bar], series: Sequence[str], *, axis: str, marks: Sequence[tuple[float, str]] = ()
) -> str:
    """Draw horizontal bars from 1 on, on a logarithmic scale.

    Parameters
    ----------
    rows
        From top to bottom.
    series
        What the values of each row are, in the order of the values.
    axis
        What is measured, with its unit.
    marks
        Values with a name, drawn as vertical lines.
    """
    left, right, width, top = 210, 70, 820, 46
    step = 9 * len(series) + 7
    height = top + step * len(rows) + 40
    values = [value for row in rows for value in row.values if value is not None]
    low = min(1.0, *values) * 0.95 if values else 1.0
    high = max([2.0, *values, *(mark for mark, _ in marks)]) * 1.05

    def x(value: float) -> float:
        return left + (width - left - right) * math.log(value / low) / math.log(high / low)

    parts = [_legend(series, left)]
    bottom = top + step * len(rows)
    for tick in _ticks(low, high):
        parts += [
            _vertical(x(tick), top - 6, bottom, FAINT),
            _text(x(tick), bottom + 16, f"{tick:g}", "middle"),
        ]
    for mark, name in marks:
        parts += [
            _vertical(x(mark), top - 6, bottom, INK, dashed=True),
            _text(x(mark), top - 10, name, "middle"),
        ]
    for number, row in enumerate(rows):
        begin = top + step * number
        parts.append(_text(left - 8, begin + step / 2 + 1, row.label, "end"))
        for place, value in enumerate(row.values):
            y = begin + 9 * place
            if value is None:
                parts.append(_text(x(1) + 4, y + 8, row.missing, "start", size=9))
                continue
            start, end = sorted((x(1), x(value)))
            parts.append(
                f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 1):.1f}" height="8" '
                f'fill="{COLOURS[place]}"/>'
            )
            parts.append(_text(end + 4, y + 8, f"{value:.3g}", "start", size=9))
    parts.append(_text((left + width - right) / 2, bottom + 34, axis, "middle"))
    return _page(width, height, parts)


def lines(drawn: Sequence[Line], *, x_axis: str, y_axis: str) -> str:
    """Draw lines with both axes logarithmic, base 2 across."""
    left, right, top, bottom, width, height = 70, 170, 20, 50, 640, 330
    xs = [x for line in drawn for x, _ in line.points]
    ys = [y for line in drawn for _, y in line.points]
    low, high = min(ys) * 0.9, max(ys) * 1.1

    def place(x: float, y: float) -> tuple[float, float]:
        across = math.log(x / min(xs)) / math.log(max(xs) / min(xs))
        up = math.log(y / low) / math.log(high / low)
        return left + across * (width - left - right), height - bottom - up * (height - top - bottom)

    parts = []
    for x in sorted(set(xs)):
        across, _ = place(x, low)
        parts += [
            _vertical(across, top, height - bottom, FAINT),
            _text(across, height - bottom + 16, f"{x:,.0f}", "middle", size=10),
        ]
    for tick in _ticks(low, high):
        _, up = place(min(xs), tick)
        parts += [
            f'<path d="M{left} {up:.1f}H{width - right}" stroke="{FAINT}"/>',
            _text(left - 6, up + 4, f"{tick:g}", "end"),
        ]
    colour = 0
    labelled: list[float] = []
    for line in drawn:
        points = [place(x, y) for x, y in line.points]
        ink, dash = (INK, ' stroke-dasharray="4 4"') if line.ideal else (COLOURS[colour], "")
        way = "L".join(f"{across:.1f} {up:.1f}" for across, up in points)
        parts.append(f'<path d="M{way}" fill="none" stroke="{ink}" stroke-width="2"{dash}/>')
        if not line.ideal:
            parts += [
                f'<circle cx="{across:.1f}" cy="{up:.1f}" r="3" fill="{ink}"/>' for across, up in points
            ]
            colour += 1
        # Names of lines that end side by side are written below each other.
        height_of_name = points[-1][1] + 4
        while any(abs(height_of_name - other) < 12 for other in labelled):
            height_of_name += 12
        if line.name:
            labelled.append(height_of_name)
            parts.append(_text(points[-1][0] + 8, height_of_name, line.name, "start", size=11))
    parts.append(_text((left + width - right) / 2, height - 12, x_axis, "middle"))
    parts.append(_text(16, height / 2, y_axis, "middle", turned=True))
    return _page(width, height, parts)


def _legend(series: Sequence[str], left: float) -> str:
    parts, x = [], left
    for colour, name in zip(COLOURS, series, strict=False):
        parts.append(
            f'<rect x="{x}" y="8" width="12" height="8" fill="{colour}"/>' + _text(x + 17, 16, name, "start")
        )
        x += 34 + 7 * len(name)
    return "".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten in between; only the powers when these would be many."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(exponents) <= 4 else (1,)
    ticks = [factor * 10.0**exponent for exponent in exponents for factor in factors]
    return [tick for tick in ticks if low <= tick <= high]


def _vertical(x: float, top: float, bottom: float, ink: str, *, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="3 3"' if dashed else ""
    return f'<path d="M{x:.1f} {top}V{bottom}" stroke="{ink}"{dash}/>'


def _text(x: float, y: float, text: str, anchor: str, *, size: int = 12, turned: bool = False) -> str:
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{turn} '
        f'fill="{INK}">{escape(text)}</text>'
    )


def _page(width: int, height: int, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" {FONT}>\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )
