"""Instructions that unrolling made of one source line are one finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.findings import Analysis
from cuvein.patterns import Severity, SourceLine
from cuvein.report.findings import findings_text
from unit.profiles.maker import Maker

if TYPE_CHECKING:
    from cuvein.patterns import Finding

WRITE, READ = SourceLine("k.cu", 17), SourceLine("k.cu", 34)


def staged(copies: int, others: int = 0) -> Maker:
    """Make a kernel whose threads stage ``copies`` words for themselves, and read ``others`` from memory."""
    maker = Maker()
    for copy in range(copies):
        maker.node("write", "shared")
        maker.node("read", "shared")
        maker.edge(2 * copy + 1, 2 * copy, "thread")
    for _ in range(others):
        maker.node()
    return maker


def findings(maker: Maker, lines: dict[int, SourceLine], pattern: str) -> list[Finding]:
    analysis = Analysis(locate=lambda profile, node: lines.get(node.id))
    analysis.add(maker.graph())
    return [finding for finding in analysis.report().findings if finding.pattern == pattern]


def test_copies_of_a_line_are_one_finding_that_removes_what_all_of_them_do() -> None:
    maker = staged(16, others=8)
    lines = {node: READ if node % 2 else WRITE for node in range(32)}
    apart = findings(maker, {}, "shared-memory-abuse")
    (finding,) = findings(maker, lines, "shared-memory-abuse")
    assert len(apart) == 16
    assert finding.removal.instructions == sum(each.removal.instructions for each in apart)
    assert len(finding.places) == len(finding.by_place) == 32
    assert {place.node for place in finding.places} == set(range(32))
    assert finding.evidence["copies"] == 16
    assert finding.summary.endswith("one of 16 groups of instructions of the same source lines.")


def test_small_copies_together_are_as_severe_as_they_are_together() -> None:
    maker = staged(10, others=10)
    lines = {node: READ if node % 2 else WRITE for node in range(20)}
    assert {each.severity for each in findings(maker, {}, "shared-memory-abuse")} == {Severity.MEDIUM}
    (finding,) = findings(maker, lines, "shared-memory-abuse")
    assert finding.severity is Severity.HIGH
    assert finding.score > max(each.score for each in findings(maker, {}, "shared-memory-abuse"))


def test_copies_are_listed_by_line() -> None:
    maker = staged(3)
    analysis = Analysis(locate=lambda profile, node: READ if node.id % 2 else WRITE)
    analysis.add(maker.graph())
    text = findings_text(analysis.report())
    assert "at k.cu:17 (pc 0x10 and 2 more): 4-byte shared write" in text
    assert "at k.cu:34 (pc 0x20 and 2 more): 4-byte shared read" in text


def test_calls_from_different_lines_stay_apart() -> None:
    maker = staged(2)
    lines = {node: SourceLine("tile.h", 5 + node % 2, (("k.cu", 40 + node // 2),)) for node in range(4)}
    assert len(findings(maker, lines, "shared-memory-abuse")) == 2


def test_what_one_of_two_lines_does_not_know_stays_apart() -> None:
    assert len(findings(staged(2), {0: WRITE, 1: READ, 2: WRITE}, "shared-memory-abuse")) == 2


def test_different_patterns_of_a_line_stay_apart() -> None:
    maker = Maker()
    maker.node(sectors=32)
    maker.node()
    maker.edge(1, 0, "thread")
    lines = dict.fromkeys(range(2), READ)
    assert len(findings(maker, lines, "poor-coalescing")) == 1
    assert len(findings(maker, lines, "redundant-read")) == 1


def test_races_of_a_line_stay_apart() -> None:
    maker = Maker()
    for copy in range(2):
        maker.node("write", "shared")
        maker.node("read", "shared")
        maker.edge(2 * copy + 1, 2 * copy, "block", None, 128)
    lines = {node: READ if node % 2 else WRITE for node in range(4)}
    assert len(findings(maker, lines, "race-candidate")) == 2
