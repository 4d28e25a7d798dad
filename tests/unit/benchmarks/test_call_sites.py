"""The documentation says of call sites' cost what was measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
ROWS = {
    "without cuvein": "plain",
    "`cuvein run`, none profiled": "none profiled",
    "with `--call-sites`, none profiled": "none profiled, call sites",
    "`cuvein run`, all profiled": "all profiled",
    "with `--call-sites`, all profiled": "all profiled, call sites",
}


def test_documented_costs_are_those_measured() -> None:
    measured = json.loads((ROOT / "benchmarks" / "results" / "call-sites.json").read_text())
    times = measured["microseconds_a_launch"]
    rows = re.findall(
        r"^\| ([^|]*\w[^|]*) \| ([\d.]+) \| ([\d.]+) \|$", (ROOT / "docs" / "source.md").read_text(), re.M
    )
    found = {ROWS[row[0]]: [float(number) for number in row[1:]] for row in rows}
    assert found == {
        way: [round(times[kind][way], 1) for kind in ("launching", "in_all")] for way in ROWS.values()
    }
    assert measured["gpu"] == "NVIDIA H200"
    assert re.fullmatch(r"[0-9a-f]{7,40}\+?", measured["commit"])
