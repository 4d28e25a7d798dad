"""``docs/cases.md``, made from ``benchmarks/results/cases.json`` and the cases' expectations.

    python benchmarks/cases_page.py [--check]

``--check`` writes nothing and ends with 1 when the page is not what would be written.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean
from textwrap import fill
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import case_studies  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable

RESULTS = ROOT / "benchmarks" / "results" / "cases.json"
PAGE = ROOT / "docs" / "cases.md"
WIDTH = 120
TIMES = "\N{MULTIPLICATION SIGN}"
TOLERANCE = 0.01
LEADING = (10, 12)
GAIN, GAINERS, BEST = 1.3, 4, 3.0
# Below this a fix counts as one that gained little time.
GAINED = 1.1
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
        """The quantity in a variant, by hardware counters, where all of them were read."""
        counters = self.found.get("count", {}).get(variant, {})
        if not all(metric in counters for metric in self.quantity.metrics):
            return None
        return sum(counters[metric] for metric in self.quantity.metrics)

    @property
    def rank(self) -> int | None:
        """The rank of the pattern's first finding."""
        return self.found.get("observe", {}).get("rank")

    @property
    def predicted(self) -> int | None:
        """What the findings said would go, or what is read beyond what has to be."""
        observed = self.found.get("observe", {})
        before, once = self.counted("before"), observed.get("once")
        if self.quantity.part is None:
            return None if before is None or once is None else round(before - once)
        return observed.get("predicted")

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

    def rate(self, variant: str) -> float | None:
        """Bytes of DRAM that a variant moves in a cycle."""
        counters, times = self.found.get("count", {}).get(variant, {}), self.found.get("time")
        known = [counters[metric] for metric in case_studies.TRAFFIC if metric in counters]
        return sum(known) / mean(times[variant]) if known and times else None

    def both(self, metric: str) -> tuple[float, float] | None:
        """A counter before and after, where both were read."""
        counters = [
            self.found.get("count", {}).get(variant, {}).get(metric) for variant in ("before", "after")
        ]
        before, after = counters
        return None if before is None or after is None else (before, after)

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
        "| case | pattern that led to the fix | rank | lines | removes | predicted | measured | of all "
        "| speed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows(document):
        before = row.counted("before")
        share = "-" if row.removed is None or not before else f"{row.removed / before * 100:.2f} %"
        lines.append(
            f"| [{row.case.name}](#{row.case.name}) | `{row.case.pattern}` | {row.rank or '-'} "
            f"| {row.case.changed_lines()} | {row.case.quantity} "
            f"| {_number(row.predicted)} | {_number(row.removed)} | {share} "
            f"| {'-' if row.speedup is None else f'{row.speedup:.2f}{TIMES}'} |"
        )
    return "\n".join(lines)


def _cycles(runs: list[float]) -> str:
    return f"{mean(runs):,.0f} ({min(runs):,.0f} to {max(runs):,.0f})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _abbreviated(commit: str) -> str:
    return commit[:7] + ("+" if commit.endswith("+") else "")


def page(document: dict[str, Any]) -> str:
    """Return the page."""
    measured = rows(document)
    machine = document["machine"]
    under = _UNDER.format(
        **{**machine, "commit": str(machine["commit"])[:12]}, **_versions(machine), runs=document["runs"]
    )
    parts = ["# Case studies", _filled(_HEAD), table(document), _filled(under), "## Goals"]
    parts.append(_items(f"{goal}." for goal in goals(document)))
    parts.append("## The cases")
    for row in measured:
        parts += _section(row, document)
    idle = [row for row in measured if row.speedup is not None and row.speedup < GAINED]
    if idle:
        parts += ["## What the graph does not settle", _filled(_IDLE)]
        parts.append(_items(unmoved(row) for row in idle))
    return "\n\n".join(parts) + "\n"


def _filled(text: str) -> str:
    return fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def _items(texts: Iterable[str]) -> str:
    return "\n".join(
        fill(text, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
        for text in texts
    )


def _versions(machine: dict[str, Any]) -> dict[str, str]:
    return {f"{name}_version": str(version) for name, version in machine["versions"].items()}


def _section(row: Row, document: dict[str, Any]) -> list[str]:
    observed = row.found.get("observe", {})
    texts = [f"{row.case.title} (`examples/cases/{row.case.name}`)."]
    found = next((each for each in observed.get("findings", []) if each["pattern"] == row.case.pattern), None)
    if found:
        texts.append(
            f"Finding {row.rank}, {found['severity']}: `{row.case.pattern}` at {found['places']} "
            f"{'instruction' if found['places'] == 1 else 'instructions'}. {found['summary']}"
        )
    texts.append(f"Fix: {row.case.fix}.")
    if row.case.removal:
        texts.append(row.case.removal)
    texts += [text for text in (row.case.stays, row.case.notes) if text]
    if row.removed is None and row.predicted is not None:
        less = observed["before"] - observed["after"]
        texts.append(
            f"In the graphs of both variants: {less:,} {row.case.quantity} less. Counters: not read yet."
        )
    if times := row.found.get("time"):
        texts.append(f"Cycles: {_cycles(times['before'])} before, {_cycles(times['after'])} after.")
    gone, appeared = observed.get("gone", {}), observed.get("appeared", {})
    if gone:
        came = f"; appeared: {_counted(appeared)}" if appeared else ""
        texts.append(f"`cuvein diff`: findings that went away: {_counted(gone)}{came}.")
    commits = {_abbreviated(step["machine"]["commit"]) for step in row.found.values()}
    if commits != {_abbreviated(document["machine"]["commit"])}:
        texts.append(f"Measured at {', '.join(f'`{commit}`' for commit in sorted(commits))}.")
    return [f"### {row.case.name}", *map(_filled, texts)]


def unmoved(row: Row) -> str:
    """Say of a fix that gained little time why, and what the kernel waits for."""
    busy = {what: row.both(metric) for what, metric in case_studies.BUSY.items()}
    parts = [f"{what} {pair[0]:.0f} % and {pair[1]:.0f} %" for what, pair in busy.items() if pair]
    texts = [f"**{row.case.name}** ({row.speedup:.2f}{TIMES}): {row.case.time}"]
    if parts:
        texts.append(f"Busy before and after: {', '.join(parts)}.")
    elif (before := row.rate("before")) and (after := row.rate("after")):
        texts.append(f"DRAM: {before:,.0f} bytes a cycle before, {after:,.0f} after.")
    if pipe := row.both(case_studies.PIPE):
        texts.append(
            f"Instructions in the pipe of loads, stores and shuffles: {pipe[0]:,.0f} and {pipe[1]:,.0f}."
        )
    if asked := row.both(case_studies.L2):
        texts.append(f"Sectors that L2 was asked for: {asked[0]:,.0f} and {asked[1]:,.0f}.")
    stalls = {what: row.both(metric) for what, metric in case_studies.STALLS.items()}
    latency = row.both(case_studies.LATENCY)
    if latency and (known := {what: pair for what, pair in stalls.items() if pair}):
        what, most = max(known.items(), key=lambda each: each[1][0])
        texts.append(
            f"Cycles of a warp between two instructions: {latency[0]:.1f} and {latency[1]:.1f}, of which it "
            f"waits {most[0]:.1f} and {most[1]:.1f} for {what}."
        )
    return " ".join(texts)


def _counted(patterns: dict[str, int]) -> str:
    return ", ".join(f"`{name}`" + (f" ({count})" if count > 1 else "") for name, count in patterns.items())


def goals(document: dict[str, Any]) -> list[str]:
    """Say of each goal whether it is met, and where it is not."""
    measured = rows(document)
    leading = [row.case.name for row in measured if row.rank != 1]
    counted = [row for row in measured if row.as_predicted is not None]
    differs = [row for row in counted if not row.as_predicted]
    explained = [row.case.name for row in differs if row.case.removal]
    unexplained = [row.case.name for row in differs if not row.case.removal]
    unpredicted = [row.case.name for row in measured if row.removed is not None and row.predicted is None]
    uncounted = [row.case.name for row in measured if row.removed is None]
    absent = [name for name in case_studies.cases() if name not in document["cases"]]
    silent = [row.case.name for row in measured if not row.tells and not row.case.stays]
    unseen = [row.case.name for row in measured if not row.tells and row.case.stays]
    gains = {row.case.name: row.speedup for row in measured if row.speedup is not None}
    enough = sum(gain >= GAIN for gain in gains.values())
    best = sorted(gains, key=lambda name: -gains[name])[:3]
    slower = [name for name, gain in gains.items() if gain < SLOWER]
    return [
        f"Leading finding is the one answered: {len(measured) - len(leading)} of {len(measured)}"
        f"{_but(leading)}",
        f"Removed as predicted within 1 %: {len(counted) - len(differs)} of {len(counted)}"
        f"{_but(unexplained)}"
        f"{_listed('the difference is explained below', explained)}"
        f"{_listed('nothing is predicted, since the graph does not count that', unpredicted)}",
        *([f"Counters not read yet: {', '.join(uncounted)}"] if uncounted else []),
        *([f"Not measured yet: {', '.join(absent)}"] if absent else []),
        f"`cuvein diff` names what went: {len(measured) - len(silent) - len(unseen)} of {len(measured)}"
        f"{_but(silent)}{_listed('the fix changes no access', unseen)}",
        f"Gains of {GAIN}{TIMES} or more: {enough} (goal {GAINERS}); the best (goal {BEST:.0f}{TIMES}): "
        + ", ".join(f"{name} {gains[name]:.2f}{TIMES}" for name in best),
        f"Slower: {', '.join(slower) or 'none'}",
    ]


def _but(names: list[str]) -> str:
    return f" (not: {', '.join(names)})" if names else ""


def _listed(what: str, names: list[str]) -> str:
    return f"; {what}: {', '.join(names)}" if names else ""


_HEAD = """
Kernels of common kinds, each written the way it is often written, then changed by what cuvein's leading
finding says. Does the finding lead to a fix, does the fix remove what the graph attributed to it, and does
that pay? `before.cu` and `after.cu` in `examples/cases/NAME` differ in the fix alone, and both check their
results. `make cases` repeats everything on a machine with a GPU and Nsight Compute, and this page is made
from its results by `benchmarks/cases_page.py`.
"""

_UNDER = """
*Rank* is that of the first finding of the pattern among all of `before`; *lines* is how many lines the fix
changes, beside what both variants share (the arrays of `particles`, in `problem.h`). *Predicted* is what the
findings of that pattern say a fix removes, at most, or what could be served elsewhere (`broadcast` and
`constant-candidate`, of which `cuvein diff` therefore attributes no amounts); of bytes from DRAM it is what
`before` reads beyond those that its graph sees read for the first time. *Measured* is the difference between
the variants by hardware counters (Nsight Compute {ncu_version}), and *of all* its share of what `before`
does. *Speed* is the kernel's cycles before over after. Counters and cycles are means of {runs} runs, each of
which begins with empty caches; least and greatest cycles are given below. {gpu}, driver {driver}, nvcc
{nvcc_version}, cuvein {cuvein_version}; last measured {date} at commit `{commit}`, and a case that was
measured at others says so (`+`: with changes that were not on that commit).
"""

_IDLE = """
These fixes removed what is said above, and the kernel gained less than a tenth of its time: that depends on
what else it waits for, which the graph does not know. [Nsight Compute](nsight-compute.md) does.
"""


def main() -> int:
    """Write the page, or compare it with what is there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when the page is out of date")
    options = parser.parse_args()
    text = page(json.loads(RESULTS.read_text()))
    if options.check:
        if PAGE.read_text() == text:
            return 0
        print("docs/cases.md is out of date; run benchmarks/cases_page.py", file=sys.stderr)
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
