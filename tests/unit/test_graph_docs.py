"""The code in docs/graph.md runs and prints what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from cuvein.findings.nsight_compute import COUNTS, CYCLES, DURATION
from cuvein.findings.rules import read_rules
from cuvein.patterns import PATTERNS, Thresholds
from cuvein.profile import write
from unit.profiles.labels import profile

PAGE = Path(__file__).parents[2] / "docs" / "graph.md"


def test_the_page_prints_what_it_says(tmp_path):
    path = tmp_path / "launch-000001.json"
    write(profile(), path)
    blocks = re.findall(
        r"```python\n(.*?)```\n\n```output\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    assert len(blocks) >= 7
    scope = {"path": path}
    for code, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, scope)
        assert printed.getvalue() == expected, code


def documented(page: str) -> str:
    return (PAGE.parent / page).read_text(encoding="utf-8")


def test_every_pattern_is_documented():
    for pattern in PATTERNS:
        assert f"| `{pattern.name}` | " in documented("patterns.md")


def test_every_threshold_is_documented_with_its_default():
    page = documented("patterns.md")
    names, defaults = Thresholds.names(), Thresholds()
    for name in names[:-3]:
        assert f"| `{name}` | {getattr(defaults, name.replace('-', '_'))} | " in page
    assert f"| `low`, `medium`, `high` | {defaults.low}, {defaults.medium}, {defaults.high} | " in page


def test_the_rules_in_the_page_are_valid(tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", documented("ci.md"), re.DOTALL)
    file = tmp_path / "rules.toml"
    file.write_text(example)
    rules = read_rules(file)
    assert rules.thresholds.coalescing == 2
    assert len(rules.ignore) == 1


def test_every_metric_that_is_read_is_documented():
    page = documented("nsight-compute.md")
    for name in (*CYCLES, *DURATION[::2], *COUNTS[:2], *COUNTS[3:]):
        assert f"`{name}`" in page
