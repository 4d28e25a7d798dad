"""What holds for the findings of any profile whatever."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuvein.findings import Analysis
from cuvein.findings.checking import check
from cuvein.findings.combining import Combiner
from cuvein.findings.comparison import Run, compare
from cuvein.findings.rules import Rules
from cuvein.graph import Graph
from cuvein.patterns import PATTERNS, Severity, Thresholds
from cuvein.report.diff import diff_text
from cuvein.report.diff_document import diff_document
from cuvein.report.findings import verdict_text
from cuvein.report.findings_document import encode, verdict_document
from cuvein.report.junit import junit
from cuvein.report.sarif import sarif
from reference import engine
from reference.drawn import streams

if TYPE_CHECKING:
    from cuvein.graph import Totals

# As eager as can be, so that every pattern has its say.
EAGER = Thresholds(
    dominance=0, coalescing=1, conflict=1, contention=0, redundancy=0, streaming=0, low=0, medium=0.5
)


@st.composite
def graphs(draw) -> list[Graph]:
    stream = draw(streams())
    return [
        Graph(profile) for profile in engine.profiles(stream.launches, stream.records, workers=1).values()
    ]


def no_more(part: Totals, whole: Totals) -> bool:
    return all(
        0 <= getattr(part, name) <= getattr(whole, name)
        for name in ("instructions", "wavefronts", "sectors", "bytes")
    )


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_findings_of_any_graph_hold_together(drawn):
    analysis = Analysis(EAGER)
    for graph in drawn:
        analysis.add(graph)
    report = analysis.report()
    kernels = {summary.kernel: summary for summary in report.kernels}
    names = {pattern.name for pattern in PATTERNS}
    for finding in report.findings:
        summary = kernels[finding.kernel]
        assert finding.pattern in names
        assert finding.places
        assert 1 <= finding.launches <= finding.of_launches == summary.launches
        assert no_more(finding.removal, summary.totals)
        assert 0 <= finding.shares.largest <= 1
        assert finding.summary.endswith(".")
        for name, value in finding.evidence.items():
            if name.endswith(("_share", "_share_of_reuse", "_share_of_later_touches")):
                assert 0 <= value <= 1, (finding.pattern, name)
        assert len(finding.places) == len(finding.by_place)
    assert sum(summary.launches for summary in report.kernels) == report.profiles == len(drawn)
    order = [(finding.severity is Severity.INFO, -finding.effect) for finding in report.findings]
    assert order == sorted(order)


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(graphs(), graphs())
def test_every_report_can_be_written_of_any_graph(before, after):
    runs = []
    for drawn in (before, after):
        analysis, combiner = Analysis(EAGER), Combiner()
        for graph in drawn:
            analysis.add(graph)
            combiner.add(graph)
        runs.append(Run(combiner.kernels, analysis.report()))
    verdict = check(runs[0].report, Rules(["info"]))
    assert verdict.passed is not bool(runs[0].report.findings)
    json.loads(sarif(verdict))
    json.loads(encode(verdict_document(verdict)))
    Xml.fromstring(junit(verdict))
    assert verdict_text(verdict).endswith(("passed\n", "FAILED\n"))
    comparison = compare(*runs)
    json.loads(encode(diff_document(comparison)))
    assert comparison.kernels == [] or diff_text(comparison)
    for kernel in comparison.kernels:
        pairs = kernel.nodes.pairs
        assert len({one.key for one, _ in pairs}) == len({other.key for _, other in pairs}) == len(pairs)
        assert len(pairs) + len(kernel.nodes.before_only) == len(kernel.match.before.nodes)
        assert len(pairs) + len(kernel.nodes.after_only) == len(kernel.match.after.nodes)
    for same in compare(runs[0], runs[0]).kernels:
        assert same.gone == same.appeared == same.moved == []
        assert all(one.key == other.key for one, other in same.nodes.pairs)
