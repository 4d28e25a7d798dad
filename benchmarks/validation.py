"""``docs/validation.md`` and its charts, made from ``benchmarks/results`` and ``validation.template.md``.

    python benchmarks/validation.py [--check]

``--check`` writes nothing and ends with 1 when a file is not what would be written.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import charts
import passes
from causes import OVERHEAD, cause
from overhead import ratio_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["make"]

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs"
TEMPLATE = ROOT / "benchmarks" / "validation.template.md"
TIMES = "\N{MULTIPLICATION SIGN}"
WAYS = {
    "gpu": "GPU engine",
    "empty": "empty patches",
    "host": "host engine",
    "unselected": "nothing selected",
}

Json = dict[str, Any]
# What a section of the template needs, and the files beside it.
Section = tuple[dict[str, object], dict[str, str]]


def make(results: Path = RESULTS) -> dict[str, str]:
    """Return the files by their path in ``docs``; a section without results is left out."""
    files: dict[str, str] = {}
    head, *sections = re.split(r"^(?=## )", TEMPLATE.read_text(), flags=re.MULTILINE)
    parts = [head]
    for section in sections:
        name, part, fill = SECTIONS[section.splitlines()[0].removeprefix("## ")]
        path = results / f"{name}.json"
        result = json.loads(path.read_text()) if path.exists() else None
        if result and part:
            result = result.get(part)
        if not result:
            continue
        values, more = fill(result)
        values["machine"] = _machine(result["machine"])
        files |= more
        text = re.sub(r"\{\{(\w+)\}\}", lambda match, values=values: str(values[match[1]]), section)
        parts.append(re.sub(r"\n{3,}", "\n\n", text))
    files["validation.md"] = "".join(parts).rstrip() + "\n"
    return files


def micro(result: Json) -> Section:
    """Microbenchmarks, one row a program."""
    engines = list(result["benchmarks"][0]["engines"])
    programs: dict[str, list[Json]] = {}
    for benchmark in result["benchmarks"]:
        programs.setdefault(benchmark["program"], []).append(benchmark)
    rows: list[list[object]] = []
    for name, seen in programs.items():
        equal = [sum(not one["engines"][engine]["differences"] for one in seen) for engine in engines]
        kernels = {one["kernel"].split(":")[0] for one in seen}
        sums = [sum(one[what] for one in seen) for what in ("accesses", "bytes")]
        rows.append([_code(name), len(kernels), len(seen), *sums, *(f"{n} of {len(seen)}" for n in equal)])
    heads = ["program", "kernels", "launches", "accesses", "bytes", *(f"equal: {name}" for name in engines)]
    bad = result["not_as_derived"]
    return {
        "kernels": result["kernels"],
        "launches": result["launches"],
        "verdict": f"{bad} graphs are not as derived." if bad else "All are as derived.",
        "table": _table(heads, rows),
    }, {}


def fidelity(result: Json) -> Section:
    """Hardware counters: what is which, how often equal, and each difference."""
    total = result["summary"]
    tolerance = {item["name"]: item["tolerance"] for item in result["quantities"]}
    quantities: list[list[object]] = []
    for item in result["quantities"]:
        seen = total["quantities"][item["name"]]
        counters = "<br>".join(map(_code, item["counters"]))
        largest = _percent(seen["largest"])
        quantities.append(
            [item["name"], item["cuvein"], counters, seen["kernels"], seen["differing"], largest]
        )
    rows: list[list[object]] = []
    every: list[list[object]] = []
    unequal: list[list[object]] = []
    for program in result["programs"]:
        kernels = program["kernels"]
        rows.append(
            [
                _code(program["name"]) + (f" (commit {program['commit']})" if "commit" in program else ""),
                len(kernels),
                sum(kernel["launches"] for kernel in kernels),
                sum(not _differences(kernel) for kernel in kernels),
                _largest(kernels, [name for name in tolerance if not tolerance[name]]),
                _largest(kernels, [name for name in tolerance if tolerance[name]]),
            ]
        )
        for kernel in kernels:
            named = [_code(program["name"]), _code(kernel["kernel"])]
            every.append([*named, kernel["launches"], *_sums(kernel["quantities"])])
            unequal += [
                [*named, text, _cause(program, kernel, quantity)]
                for quantity, text in _differences(kernel).items()
            ]
    differing = total["engines_differ"]
    others = [
        kernel
        for program in result["programs"]
        if program["name"].split("/")[0] not in {"examples", "micro"}
        for kernel in program["kernels"]
    ]
    return {
        **{key: total[key] for key in ("kernels", "programs", "launches")},
        "within": total["kernels_within_goal"],
        "programs_of_others": len(others),
        "real": sum(not _misses(kernel, tolerance) for kernel in others),
        "engines": f"Launches in which the engines' sums differ, all of kernels listed below: {differing}."
        if differing
        else "The engines' sums are the same in every launch.",
        "quantities": _table(
            ["quantity", "cuvein adds up", "counters", "kernels", "not equal", "by at most"], quantities
        ),
        "table": _table(
            ["program", "kernels", "launches", "all equal", "counts off by", "wavefronts off by"], rows
        ),
        "differences": "What is not equal:\n\n"
        + _table(["program", "kernel", "cuvein against the hardware", "cause"], unequal)
        if unequal
        else "",
        **_probes(),
        "failed": _failed("What could not be compared:", result),
        "every": _table(["program", "kernel", "launches", *_SUMS], every),
    }, {}


def _probes() -> dict[str, int]:
    """Count what was probed one instruction at a time."""
    copies = passes.probes("copies")
    cached = sum(row["instruction"].startswith("cp.async.ca") for row in copies)
    return {
        "copies": cached,
        "copies_explained": cached - len(passes.NOT_EXPLAINED),
        "copies_past_l1": sum(
            row["instruction"] == "cp.async.cg" and row["name"] != "none" and row["wavefronts"] == 0
            for row in copies
        ),
        "atomics": len(passes.probes("atomics")),
    }


_SUMS = {
    "global requests": r"global .* requests",
    "global sectors": r"global .* sectors",
    "shared instructions": r"shared .* instructions",
    "shared wavefronts": r"shared .* wavefronts",
    "local requests": r"local .* requests",
    "local sectors": r"local .* sectors",
}


def _sums(quantities: Json) -> list[str]:
    cells = []
    for pattern in _SUMS.values():
        seen = [sums for name, sums in quantities.items() if re.fullmatch(pattern, name)]
        ours, theirs = (sum(sums[side] for sums in seen) for side in ("cuvein", "hardware"))
        cells.append("" if not seen else f"{ours:,}" if ours == theirs else f"{ours:,} / {theirs:,}")
    return cells


def _differences(kernel: Json) -> dict[str, str]:
    """Describe each quantity that is not equal."""
    texts = {}
    for name, sums in kernel["quantities"].items():
        if sums["differing"]:
            where = f"{sums['differing']} of {kernel['launches']} launches" if kernel["launches"] > 1 else ""
            by = ", ".join(part for part in (where, f"by at most {_percent(sums['largest'])}") if part)
            texts[name] = f"{name}: {sums['cuvein']:,} against {sums['hardware']:,} ({by})"
    return texts


def _misses(kernel: Json, tolerance: dict[str, float]) -> bool:
    return any(sums["largest"] > tolerance[name] for name, sums in kernel["quantities"].items())


def _largest(kernels: list[Json], names: list[str]) -> str:
    """Give the largest difference of a launch over the quantities named."""
    seen = [
        kernel["quantities"][name] for kernel in kernels for name in names if name in kernel["quantities"]
    ]
    return _percent(max(sums["largest"] for sums in seen)) if seen else ""


def _cause(program: Json, kernel: Json, quantity: str) -> str:
    if found := cause(program["name"], kernel["kernel"], quantity):
        return found
    if kernel["not_analysed"]:
        listed = ", ".join(f"{count:,} {_code(name)}" for name, count in kernel["not_analysed"].items())
        return f"cuvein sees and does not analyse: {listed}"
    return "not explained"


# What labels are compared over, and in words.
LEVELS = {"traffic": "all traffic of a launch", "spaces": "a memory space", "nodes": "a node"}


def stability(result: Json) -> Section:
    """Stability: total variation of the labels."""
    levels = [level for level in LEVELS if level in result]
    rows = [
        [
            _code(row["program"]),
            row["launches"],
            *(_distance(row[level][part]) for level in levels for part in ("mean", "max")),
            row.get("reason") or ("not explained" if row["moving"] else ""),
        ]
        for row in result["programs"]
    ]
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
        "totals": _table(over, totals),
        "beyond": _beyond(result, levels[0]),
        "table": _table([*heads, "why labels move"], rows),
    }, {}


def _beyond(result: Json, level: str) -> str:
    """Name the programs that miss the largest distance allowed, and whether runs of one engine do."""
    most = result["goal"]["max"]
    names = [_code(row["program"]) for row in result["programs"] if row[level]["max"] >= most]
    if not names:
        return f"No program misses the goal for {LEVELS[level]}."
    alone = [row for row in result["programs"] if row[level].get("max_within", most) >= most]
    within = "" if alone else "; between runs of one engine none does"
    return f"Beyond {100 * most:g} % for {LEVELS[level]}: {', '.join(names)}{within}."


def _distance(share: float) -> str:
    return f"{100 * share:.4f} %" if share else "0"


def overhead(result: Json) -> Section:
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
        name = _code(row["name"]) + (f" (commit {row['commit']})" if "commit" in row else "")
        rows.append([name, first, seen["launches"], accesses, *cells])
        if row["ratio"].get("gpu", 0) > goal["most"] or "gpu" in row["failures"]:
            left = seen.get("left_to_host", {})
            listed = "; ".join(f"{count:,} launches left to the host: {why}" for why, count in left.items())
            cause = OVERHEAD.get(row["name"], listed or "not explained")
            missed.append([_code(row["name"]), _way(row, "gpu"), cause])
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
        "summary": _table(["", "programs", "median", "most"], totals),
        "unended": _unended(result["programs"]),
        "table": _table(["program", "plain", "launches", "accesses", *(WAYS[way] for way in ways)], rows),
        "missed": f"Above {goal['most']:g}{TIMES} with the GPU engine, or not ended in time:\n\n"
        + _table(["program", "wall time", "cause"], missed)
        if missed
        else "",
        "failed": _failed("What was not measured:", result),
    }, {"images/validation-overhead.svg": chart}


def _unended(rows: list[Json]) -> str:
    """Say what the median leaves out, which would make it look better than it is."""
    names = [_code(row["name"]) for row in rows if "gpu" in row["failures"]]
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


def workers(result: Json) -> Section:
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
        "table": _table(heads, rows),
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


def gpu_scaling(result: Json) -> Section:
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
        "deviation": _percent(max(result[axis]["fit"]["largest_deviation"] for axis in ("grid", "length"))),
        "table": _table(heads, rows),
    }, {"images/validation-gpu.svg": chart}


# By title in the template: name of the results, part of them, what fills the section.
SECTIONS: dict[str, tuple[str, str, Callable[[Json], Section]]] = {
    "Microbenchmarks": ("micro", "", micro),
    "Hardware counters": ("fidelity", "", fidelity),
    "Stability": ("stability", "", stability),
    "Overhead": ("overhead", "", overhead),
    "Scaling: host engine": ("scaling", "host", workers),
    "Scaling: GPU engine": ("scaling", "gpu", gpu_scaling),
}


def _machine(machine: Json) -> str:
    named = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if version)
    return (
        f"Measured {machine['date'][:10]} at commit {machine['commit']} on {machine['gpu'] or 'no GPU'}, "
        f"driver {machine['driver']}, {machine['processors']} processors ({machine['cpu']}), with {named}."
    )


def _failed(title: str, result: Json) -> str:
    """List what failed, those that failed alike in one line."""
    alike: dict[str, list[str]] = {}
    for text in result["failed"]:
        name, _, why = text.partition(": ")
        alike.setdefault(why, []).append(_code(name))
    lines = [f"- {', '.join(names)}: {why}" for why, names in alike.items()]
    return "\n".join([title, "", *lines]) if lines else ""


def _table(heads: Iterable[str], rows: Iterable[Sequence[object]]) -> str:
    def line(row: Iterable[object]) -> str:
        texts = (f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row)
        return "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in texts) + " |"

    names = list(heads)
    return "\n".join([line(names), "|" + "---|" * len(names), *map(line, rows)])


def _code(text: str) -> str:
    return f"`{text}`"


def _percent(share: float) -> str:
    return f"{100 * share:.{3 if share >= 0.995 else 2}g} %" if share else "0"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when a file is out of date")
    options = parser.parse_args()
    stale = [name for name, text in make().items() if not _is(DOCS / name, text)]
    if options.check:
        if stale:
            print(f"out of date: {', '.join(stale)}; run benchmarks/validation.py", file=sys.stderr)
        return 1 if stale else 0
    for name, text in make().items():
        (DOCS / name).write_text(text)
    return 0


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main())
