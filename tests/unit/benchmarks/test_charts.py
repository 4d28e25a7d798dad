"""Charts: well-formed, and in proportion."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest

import charts

SVG = "{http://www.w3.org/2000/svg}"


def test_bars_are_as_long_as_the_logarithm_of_their_value():
    rows = [charts.Bar("a", [2.0, 4.0]), charts.Bar("b < c", [16.0, None], "failed")]
    root = ElementTree.fromstring(charts.bars(rows, ["gpu", "host"], axis="times", marks=[(4, "goal")]))
    widths = [float(bar.get("width")) for bar in root.iter(f"{SVG}rect") if bar.get("height") == "8"][2:]
    assert len(widths) == 3
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.02)
    assert widths[2] == pytest.approx(4 * widths[0], rel=0.02)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"b < c", "failed", "goal", "times", "16"} <= set(texts)


def test_lines_that_double_with_x_rise_alike():
    drawn = [
        charts.Line("measured", [(1, 10), (2, 20), (4, 40)]),
        charts.Line("ideal", [(1, 10), (4, 40)], True),
    ]
    root = ElementTree.fromstring(charts.lines(drawn, x_axis="workers", y_axis="records"))
    places = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in root.iter(f"{SVG}circle")]
    steps = [(b[0] - a[0], a[1] - b[1]) for a, b in pairwise(places)]
    assert steps[0] == pytest.approx(steps[1], abs=0.2)
    assert steps[0][1] > 0
