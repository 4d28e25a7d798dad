"""Wall time of whole programs."""

from __future__ import annotations

import math
import statistics

import charts
from causes import OVERHEAD
from overhead import ratio_of
from sections.markdown import TIMES, Json, Section, code, failed, table

__all__ = ["fill"]

WAYS = {
    "gpu": "GPU engine",
    "empty": "empty patches",
    "host": "host engine",
    "unselected": "nothing selected",
}


def fill(result: Json) -> Section:
    """Overhead: wall time of whole programs."""
    ways = [way for way in WAYS if way in result["summary"]]
    goal = result["goal"]
    rows: list[list[object]] = []
    missed: list[list[object]] = []
    for row in result["programs"]:
        cells = [_way(row, way) for way in ways]
        seen = row["seen"].get("gpu") or row["seen"].get("host") or {"launches": "", "accesses": 0}
        plain = row["seconds"]["plain"]
        first = f"{statistics.median(plain):.2f} s" if plain else row["failures"].get("plain", "")
        accesses = f"{seen['accesses'] / 1e6:,.1f} M"
        name = code(row["name"]) + (f" (commit {row['commit']})" if "commit" in row else "")
        rows.append([name, first, seen["launches"], accesses, *cells])
        if row["ratio"].get("gpu", 0) > goal["most"] or "gpu" in row["failures"]:
            left = seen.get("left_to_host", {})
            listed = "; ".join(f"{count:,} launches left to the host: {why}" for why, count in left.items())
            cause = OVERHEAD.get(row["name"], listed or "not explained")
            missed.append([code(row["name"]), _way(row, "gpu"), cause])
    chart = charts.bars(
        [
            charts.Bar(row["name"], [ratio_of(row, way) for way in ("gpu", "host")], _failure(row))
            for row in result["programs"]
        ],
        [WAYS["gpu"], WAYS["host"]],
        axis=f"wall time of the program, {TIMES} plain",
        marks=[(goal["most"], f"{goal['most']:g}{TIMES}")],
    )
    totals: list[list[object]] = []
    for way in ways:
        total = result["summary"][way]
        totals.append([WAYS[way], total["programs"], *(f"{total[k]:.2f}{TIMES}" for k in ("median", "most"))])
    return {
        "repetitions": max(len(row["seconds"]["plain"]) for row in result["programs"]),
        "goal_median": f"{goal['median']:g}{TIMES}",
        "goal_most": f"{goal['most']:g}{TIMES}",
        "summary": table(["", "programs", "median", "most"], totals),
        "unended": _unended(result["programs"]),
        "table": table(["program", "plain", "launches", "accesses", *(WAYS[way] for way in ways)], rows),
        "missed": f"Above {goal['most']:g}{TIMES} with the GPU engine, or not ended in time:\n\n"
        + table(["program", "wall time", "cause"], missed)
        if missed
        else "",
        "failed": failed("What was not measured:", result),
    }, {"images/validation-overhead.svg": chart}


def _unended(rows: list[Json]) -> str:
    """Say what the median leaves out, which would make it look better than it is."""
    names = [code(row["name"]) for row in rows if "gpu" in row["failures"]]
    if not names:
        return ""
    ratios = [ratio for row in rows if (ratio := ratio_of(row, "gpu")) is not None]
    median = statistics.median([*ratios, *[math.inf] * len(names)])
    known = f"{median:.2f}{TIMES}" if math.isfinite(median) else "not known"
    return (
        f"Not in the numbers of the GPU engine: {', '.join(names)}, which did not end in the time given. "
        f"With these, as slower than all others, the median is {known}."
    )


def _way(row: Json, way: str) -> str:
    if way in row["ratio"]:
        return f"{row['ratio'][way]:.2f}{TIMES} ({statistics.median(row['seconds'][way]):.2f} s)"
    earlier = row.get("earlier", {}).get(way)
    if earlier and way not in row["failures"]:
        if "failure" in earlier:
            return f"{earlier['failure']} (commit {earlier['commit']})"
        seconds = statistics.median(earlier["seconds"])
        return f"{earlier['ratio']:.2f}{TIMES} ({seconds:.2f} s, commit {earlier['commit']})"
    return str(row["failures"].get(way, "not measured"))


def _failure(row: Json) -> str:
    return next((text[:40] for way, text in row["failures"].items() if way in WAYS), "not measured")
