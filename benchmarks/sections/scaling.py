"""How the cost of both engines grows."""

from __future__ import annotations

import charts
from sections.markdown import TIMES, Json, Section, percent, table

__all__ = ["gpu", "host"]


def host(result: Json) -> Section:
    """Scaling of the host engine."""
    rows: list[list[object]] = []
    drawn = []
    for trace in result["traces"]:
        for row in trace["workers"]:
            each = [f"{row[key] / 1e6:.2f} M" for key in ("records_per_second", "file_records_per_second")]
            parts = [f"{100 * row[key]:.0f} %" for key in ("efficiency", "file_efficiency")]
            apart = _apart(trace, row)
            whole = trace["workers"][0]["records_per_second"] * row["workers"]
            beside = (
                [f"{apart / 1e6:.2f} M ({100 * apart / whole:.0f} %)", _of(row, apart)] if apart else ["", ""]
            )
            rows.append([trace["trace"], row["workers"], each[0], parts[0], *beside, each[1], parts[1]])
        points = [(row["workers"], row["records_per_second"] / 1e6) for row in trace["workers"]]
        (one, speed_of_one), (most, _) = points[0], points[-1]
        drawn.append(charts.Line(f"{trace['trace']} memory", points))
        drawn.append(charts.Line("", [points[0], (most, speed_of_one * most / one)], ideal=True))
    heads = [
        "trace",
        "workers",
        "records a second",
        "efficiency",
        "engines apart",
        "of these",
        "from a trace file",
        "efficiency",
    ]
    chart = charts.lines(drawn, x_axis="workers", y_axis="million records a second")
    return {
        "goal": result["goal"],
        "verdict": _of_sixteen(result),
        "table": table(heads, rows),
    }, {"images/validation-workers.svg": chart}


def _apart(trace: Json, row: Json) -> float | None:
    """Records a second of as many engines as the row has workers, that share nothing."""
    together = trace["side_by_side"]
    if "apart_records_per_second" in row:
        return float(row["apart_records_per_second"])
    return float(together["records_per_second"]) if together["engines"] == row["workers"] > 1 else None


def _of(row: Json, apart: float) -> str:
    return f"{100 * row['records_per_second'] / apart:.0f} %"


def _of_sixteen(result: Json) -> str:
    """Say what 16 workers reach, of 16 times one and of what the machine gives to 16 engines."""
    said = []
    for trace in result["traces"]:
        for row in trace["workers"]:
            if row["workers"] == 16:
                apart = _apart(trace, row)
                beside = f", {_of(row, apart)} of 16 apart" if apart else ""
                said.append(f"{trace['trace']} {100 * row['efficiency']:.0f} %{beside}")
    verdict = f"**16 workers: {'; '.join(said)}.**" if said else "16 workers were not measured."
    yards = result.get("processors")
    if not yards:
        return verdict
    speeds = [f"{100 * yards[name]:.0f} %" for name in ("compute", "memory")]
    return (
        f"{verdict} 16 processes without cuvein ran at {speeds[0]} of the speed of one where they compute, "
        f"at {speeds[1]} where they read memory."
    )


def gpu(result: Json) -> Section:
    """Scaling of the GPU engine."""
    rows: list[list[object]] = []
    drawn = []
    for axis, name in (("grid", "larger grid"), ("length", "longer kernel")):
        before = None
        for point in result[axis]["points"]:
            cost = point["milliseconds"]
            growth = f"{cost / before:.2f}{TIMES}" if before else ""
            plain = f"{point['plain_milliseconds']:.3f}"
            rows.append([name, point["blocks"], point["length"], plain, f"{cost:.2f}", growth])
            before = cost
        points = [
            (point["blocks"] * point["length"], point["milliseconds"]) for point in result[axis]["points"]
        ]
        drawn.append(charts.Line(name, points))
    chart = charts.lines(drawn, x_axis="iterations of blocks", y_axis="milliseconds a launch")
    heads = ["varied", "blocks", "length", "plain, ms", "GPU engine, ms", "of the row above"]
    doublings = {
        name: result[axis]["largest_ratio_of_doubling"]
        for axis, name in (("grid", "grid"), ("length", "length"))
    }
    return {
        "goal": result["goal"],
        "doublings": ", ".join(
            f"twice the {name} cost up to {most:.2f}{TIMES}" for name, most in doublings.items()
        ),
        "deviation": percent(max(result[axis]["fit"]["largest_deviation"] for axis in ("grid", "length"))),
        "table": table(heads, rows),
    }, {"images/validation-gpu.svg": chart}
