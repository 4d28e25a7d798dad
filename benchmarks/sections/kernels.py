"""Kernel times over empty callbacks."""

from __future__ import annotations

from sections.markdown import Json, Section, code, failed, table

__all__ = ["fill"]

WAYS = {"plain": "plain, ms", "empty": "empty callbacks, ms", "gpu": "GPU engine, ms"}


def fill(result: Json) -> Section:
    """Each kernel, and the geometric means."""
    goal = result["goal"]
    rows = [
        [
            code(row["program"]),
            code(row["kernel"]),
            *(f"{row['milliseconds'][way]:.3f}" for way in WAYS),
            f"{row['ratio']:.2f}" + (" (missed)" if row["ratio"] > goal["most"] else ""),
        ]
        for row in result["kernels"]
    ]
    totals = [
        [name, total["kernels"], f"{total['mean']:.2f}", f"{total['most']:.2f}", _verdict(total, goal)]
        for name, total in result["summary"].items()
    ]
    return {
        "goal_mean": f"{goal['mean']:g}",
        "goal_most": f"{goal['most']:g}",
        "totals": table(["kernels of", "", "geometric mean", "most", ""], totals),
        "table": table(["program", "kernel", *WAYS.values(), "GPU engine / empty"], rows),
        "failed": failed("What was not measured:", result),
    }, {}


def _verdict(total: Json, goal: Json) -> str:
    missed = [name for name in ("mean", "most") if total[name] > goal[name]]
    return f"missed ({', '.join(missed)})" if missed else "met"
