"""How reports write where something was launched or made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuvein.report import style

if TYPE_CHECKING:
    from collections import Counter

    from cuvein.source import Origin

__all__ = ["by_or_at", "launched_lines", "launches_text", "origin_document", "origin_text"]

_SHOWN = 3


def origin_text(origin: Origin | None) -> str:
    """Write a place with its operator and NVTX ranges; empty when nothing is known."""
    if origin is None:
        return ""
    parts = [origin.where] if origin.place is not None else []
    if origin.operator is not None:
        parts.append(origin.operator)
    if origin.ranges:
        parts.append(f"in {' / '.join(origin.ranges)}")
    return style.printable(", ".join(parts))


def by_or_at(origin: Origin) -> str:
    """Give the word between ``launched`` and the place."""
    return "at" if origin.role == "call" else "by"


def launches_text(number: int) -> str:
    """Write a number of launches."""
    return f"{number:,} launch{'' if number == 1 else 'es'}"


def launched_lines(launched: Counter[Origin]) -> list[str]:
    """Write where launches come from, those with most first; nothing when it was not recorded."""
    texts: dict[str, int] = {}
    for origin, launches in launched.most_common():
        text = f"{by_or_at(origin)} {origin_text(origin) or 'a place that is not known'}"
        texts[text] = texts.get(text, 0) + launches
    lines = []
    for text, launches in list(texts.items())[:_SHOWN]:
        times = f" ({launches_text(launches)})" if len(texts) > 1 else ""
        lines.append(f"launched {text}{times}")
    if len(texts) > _SHOWN:
        lines.append(f"and at {len(texts) - _SHOWN} other places")
    return lines


def origin_document(origin: Origin | None) -> dict[str, Any] | None:
    """Give a place for a JSON report."""
    if origin is None:
        return None
    place = origin.place
    return {
        "file": place.file if place else None,
        "line": place.line if place else None,
        "function": place.function if place else None,
        "role": origin.role,
        "operators": list(origin.operators),
        "ranges": list(origin.ranges),
        "note": origin.note,
    }
