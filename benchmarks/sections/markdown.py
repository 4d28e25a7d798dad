"""What sections are made of: tables and figures in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["TIMES", "Json", "Section", "code", "failed", "percent", "table"]

TIMES = "\N{MULTIPLICATION SIGN}"

Json = dict[str, Any]
# What a section of the template needs, and the files beside it.
Section = tuple[dict[str, object], dict[str, str]]


def table(heads: Iterable[str], rows: Iterable[Sequence[object]]) -> str:
    """Make a table; whole numbers get separators."""

    def line(row: Iterable[object]) -> str:
        texts = (f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row)
        return "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in texts) + " |"

    names = list(heads)
    return "\n".join([line(names), "|" + "---|" * len(names), *map(line, rows)])


def code(text: str) -> str:
    """Show as code."""
    return f"`{text}`"


def percent(share: float) -> str:
    """Show a share with as many digits as tell something."""
    return f"{100 * share:.{3 if share >= 0.995 else 2}g} %" if share else "0"


def failed(title: str, result: Json) -> str:
    """List what failed, those that failed alike in one line."""
    alike: dict[str, list[str]] = {}
    for text in result["failed"]:
        name, _, why = text.partition(": ")
        alike.setdefault(why, []).append(code(name))
    lines = [f"- {', '.join(names)}: {why}" for why, names in alike.items()]
    return "\n".join([title, "", *lines]) if lines else ""
