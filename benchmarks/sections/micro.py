"""Microbenchmarks against their derived graphs."""

from __future__ import annotations

from sections.markdown import Json, Section, code, table

__all__ = ["fill"]


def fill(result: Json) -> Section:
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
        rows.append([code(name), len(kernels), len(seen), *sums, *(f"{n} of {len(seen)}" for n in equal)])
    heads = ["program", "kernels", "launches", "accesses", "bytes", *(f"equal: {name}" for name in engines)]
    bad = result["not_as_derived"]
    return {
        "kernels": result["kernels"],
        "launches": result["launches"],
        "verdict": f"{bad} graphs are not as derived." if bad else "All are as derived.",
        "table": table(heads, rows),
    }, {}
