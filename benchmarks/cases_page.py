"""``docs/cases.md``, made from ``benchmarks/results/cases.json`` and the cases' expectations.

    python benchmarks/cases_page.py [--check]

``--check`` writes nothing and ends with 1 when the page is not what would be written.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import case_studies  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "cases.json"
PAGE = ROOT / "docs" / "cases.md"
TIMES = "\N{MULTIPLICATION SIGN}"
TOLERANCE = 0.01
LEADING = (10, 12)
GAIN, GAINERS, BEST = 1.3, 4, 3.0
# A difference of cycles below this is no difference: launches vary by as much.
SLOWER = 0.98


@dataclass(frozen=True)
class Row:
    """What was measured of one case."""

    case: case_studies.Case
    found: dict[str, Any]

    @cached_property
    def quantity(self) -> case_studies.Quantity:
        """What goes."""
        return case_studies.QUANTITIES[self.case.quantity]

    def counted(self, variant: str) -> float | None:
        """The quantity in a variant, by hardware counters."""
        counters = self.found.get("count", {}).get(variant, {})
        known = [counters[metric] for metric in self.quantity.metrics if metric in counters]
        return sum(known) if known else None

    @property
    def rank(self) -> int | None:
        """The rank of the pattern's first finding."""
        return self.found.get("observe", {}).get("rank")

    @property
    def predicted(self) -> int | None:
        """What the findings said would go."""
        return self.found.get("observe", {}).get("predicted")

    @property
    def removed(self) -> float | None:
        """What went, by hardware counters."""
        before, after = self.counted("before"), self.counted("after")
        return None if before is None or after is None else before - after

    @property
    def speedup(self) -> float | None:
        """Mean cycles before over mean cycles after."""
        times = self.found.get("time")
        return mean(times["before"]) / mean(times["after"]) if times else None

    @property
    def as_predicted(self) -> bool | None:
        """Whether what went is what had been predicted."""
        if self.predicted is None or self.removed is None:
            return None
        return abs(self.removed - self.predicted) <= TOLERANCE * self.predicted

    @property
    def tells(self) -> bool:
        """Whether the comparison names the pattern among the findings that went away."""
        return self.case.pattern in self.found.get("observe", {}).get("gone", {})


def rows(document: dict[str, Any]) -> list[Row]:
    """Return a row for every case there are results of."""
    known = case_studies.cases()
    return [Row(known[name], found) for name, found in document["cases"].items() if name in known]


def table(document: dict[str, Any]) -> str:
    """Return the table in Markdown."""
    lines = [
        "| case | leading pattern | rank | removes | predicted | measured | of all | speed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows(document):
        before = row.counted("before")
        share = "" if row.removed is None or not before else f"{row.removed / before * 100:.1f} %"
        lines.append(
            f"| {row.case.name} | `{row.case.pattern}` | {row.rank or '-'} | {row.case.quantity} "
            f"| {_number(row.predicted)} | {_number(row.removed)} | {share} "
            f"| {'-' if row.speedup is None else f'{row.speedup:.2f}{TIMES}'} |"
        )
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def goals(document: dict[str, Any]) -> list[str]:
    """Say of each goal whether it is met, and where it is not."""
    measured = rows(document)
    leading = [row.case.name for row in measured if row.rank != 1]
    differs = [row.case.name for row in measured if row.as_predicted is False and not row.case.removal]
    silent = [row.case.name for row in measured if not row.tells]
    gains = {row.case.name: row.speedup for row in measured if row.speedup is not None}
    enough = sum(gain >= GAIN for gain in gains.values())
    best = max(gains.values(), default=0.0)
    slower = [name for name, gain in gains.items() if gain < SLOWER]
    return [
        f"Leading finding is the one answered: {len(measured) - len(leading)} of {len(measured)}"
        f"{_but(leading)}",
        f"Removed as predicted within 1 %, or explained: {len(measured) - len(differs)} of {len(measured)}"
        f"{_but(differs)}",
        f"`cuvein diff` names what went: {len(measured) - len(silent)} of {len(measured)}{_but(silent)}",
        f"Gains of {GAIN}{TIMES} or more: {enough} (goal {GAINERS}); best {best:.2f}{TIMES} "
        f"(goal {BEST:.0f}{TIMES})",
        f"Slower: {', '.join(slower) or 'none'}",
    ]


def _but(names: list[str]) -> str:
    return f" (not: {', '.join(names)})" if names else ""
