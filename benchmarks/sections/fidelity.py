"""Counts against hardware counters."""

from __future__ import annotations

import re

import passes
from causes import cause
from sections.markdown import Json, Section, code, failed, percent, table

__all__ = ["fill"]


def fill(result: Json) -> Section:
    """Hardware counters: what is which, how often equal, and each difference."""
    total = result["summary"]
    tolerance = {item["name"]: item["tolerance"] for item in result["quantities"]}
    quantities: list[list[object]] = []
    for item in result["quantities"]:
        seen = total["quantities"][item["name"]]
        counters = "<br>".join(map(code, item["counters"]))
        largest = percent(seen["largest"])
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
                code(program["name"]) + (f" (commit {program['commit']})" if "commit" in program else ""),
                len(kernels),
                sum(kernel["launches"] for kernel in kernels),
                sum(not _differences(kernel) for kernel in kernels),
                _largest(kernels, [name for name in tolerance if not tolerance[name]]),
                _largest(kernels, [name for name in tolerance if tolerance[name]]),
            ]
        )
        for kernel in kernels:
            named = [code(program["name"]), code(kernel["kernel"])]
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
        "quantities": table(
            ["quantity", "cuvein adds up", "counters", "kernels", "not equal", "by at most"], quantities
        ),
        "table": table(
            ["program", "kernels", "launches", "all equal", "counts off by", "wavefronts off by"], rows
        ),
        "differences": "What is not equal:\n\n"
        + table(["program", "kernel", "cuvein against the hardware", "cause"], unequal)
        if unequal
        else "",
        **_probes(),
        "failed": failed("What could not be compared:", result),
        "every": table(["program", "kernel", "launches", *_SUMS], every),
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
            by = ", ".join(part for part in (where, f"by at most {percent(sums['largest'])}") if part)
            texts[name] = f"{name}: {sums['cuvein']:,} against {sums['hardware']:,} ({by})"
    return texts


def _misses(kernel: Json, tolerance: dict[str, float]) -> bool:
    return any(sums["largest"] > tolerance[name] for name, sums in kernel["quantities"].items())


def _largest(kernels: list[Json], names: list[str]) -> str:
    """Give the largest difference of a launch over the quantities named."""
    seen = [
        kernel["quantities"][name] for kernel in kernels for name in names if name in kernel["quantities"]
    ]
    return percent(max(sums["largest"] for sums in seen)) if seen else ""


def _cause(program: Json, kernel: Json, quantity: str) -> str:
    if found := cause(program["name"], kernel["kernel"], quantity):
        return found
    if kernel["not_analysed"]:
        listed = ", ".join(f"{count:,} {code(name)}" for name, count in kernel["not_analysed"].items())
        return f"cuvein sees and does not analyse: {listed}"
    return "not explained"
