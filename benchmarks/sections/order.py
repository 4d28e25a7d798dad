"""What following the order of barriers costs."""

from __future__ import annotations

import statistics

from sections.markdown import Json, Section, code, table

__all__ = ["fill"]


def fill(result: Json) -> Section:
    """Kernels, then examples."""
    times = result["kernels"]["milliseconds"]
    ratios = {name: row["on"] / row["off"] for name, row in times.items()}
    kernels = [
        [code(name), *(f"{row[way]:.3f}" for way in ("plain", "off", "on")), f"{ratios[name]:.2f}"]
        for name, row in times.items()
    ]
    programs = [
        [
            code(" ".join([name, *row["arguments"]])),
            *(f"{row['seconds'][way]:.2f}" for way in ("plain", "off", "on", "host")),
            "yes" if row["as_the_host_engine"] else "NO",
        ]
        for name, row in result["examples"]["programs"].items()
    ]
    ways = ["plain", "`off`", "`on`"]
    return {
        "shrink": result["kernels"]["shrink"],
        "rounds": result["kernels"]["rounds"],
        "mean": f"{statistics.geometric_mean(ratios.values()):.2f}" if ratios else "not measured",
        "most": f"{max(ratios.values()):.2f}" if ratios else "not measured",
        "kernels": table(["kernel", *(f"{way}, ms" for way in ways), "`on` / `off`"], kernels),
        "programs": table(
            ["program", *(f"{way}, s" for way in ways), "host engine, s", "ordered bytes as the host engine"],
            programs,
        ),
    }, {}
