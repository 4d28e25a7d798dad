"""Labels from run to run and between the engines."""

from __future__ import annotations

from sections.markdown import Json, Section, code, table

__all__ = ["fill"]

# What labels are compared over, and in words.
LEVELS = {"traffic": "all traffic of a launch", "spaces": "a memory space", "nodes": "a node"}


def fill(result: Json) -> Section:
    """Stability: total variation of the labels."""
    levels = [level for level in LEVELS if level in result]
    counted = [row for row in result["programs"] if not row.get("small")]
    small = [row for row in result["programs"] if row.get("small")]
    heads = ["program", "launches"]
    for level in levels:
        heads += [f"{level}, mean", "most"]
    totals: list[list[object]] = []
    for level in levels:
        total = result[level]
        cells = [total["mean"], total["max"], total["mean_within"], total.get("max_within")]
        shown = (_distance(cell) if cell is not None else "" for cell in cells)
        totals.append([LEVELS[level], total["count"], total["identical"], *shown])
    over = ["over", "compared", "the same in all runs", "mean", "most", "of one engine, mean", "most"]
    return {
        "runs": result["runs_per_engine"],
        "goal_mean": f"{100 * result['goal']['mean']:g} %",
        "goal_max": f"{100 * result['goal']['max']:g} %",
        "totals": table(over, totals),
        "beyond": _beyond(result, levels[0]),
        "table": table([*heads, "why labels move"], [_row(row, levels) for row in counted]),
        "small": "Small on purpose, and in no total above: so few warps take part in a race that each "
        "of them counts.\n\n" + table([*heads, "why labels move"], [_row(row, levels) for row in small])
        if small
        else "",
    }, {}


def _row(row: Json, levels: list[str]) -> list[object]:
    return [
        code(row["program"]),
        row["launches"],
        *(_distance(row[level][part]) for level in levels for part in ("mean", "max")),
        row.get("reason") or ("not explained" if row["moving"] else ""),
    ]


def _beyond(result: Json, level: str) -> str:
    """Name the programs that miss the largest distance allowed, and whether runs of one engine do."""
    most = result["goal"]["max"]
    rows = [row for row in result["programs"] if not row.get("small")]
    names = [code(row["program"]) for row in rows if row[level]["max"] >= most]
    if not names:
        return f"No program misses the goal for {LEVELS[level]}."
    alone = [code(row["program"]) for row in rows if row[level].get("max_within", most) >= most]
    within = f"; between runs of one engine {', '.join(alone) or 'none does'}"
    return f"Beyond {100 * most:g} % for {LEVELS[level]}: {', '.join(names)}{within}."


def _distance(share: float) -> str:
    return f"{100 * share:.4f} %" if share else "0"
