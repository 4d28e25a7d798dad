"""What is found in the recordings of a real GPU: what the examples plant, where it is, and no false alarm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import golden
from cuvein.findings import Analysis
from cuvein.graph import Graph

if TYPE_CHECKING:
    from cuvein.patterns import Finding

CORRECT = [
    "async_copy",
    "bytes",
    "half_rows",
    "labels",
    "matmul",
    "reduction",
    "softmax",
    "stencil",
    "transpose",
]


def graphs(name: str) -> list[Graph]:
    return [Graph(profile) for profile in golden.profiles(name)]


def findings(name: str) -> list[Finding]:
    analysis = Analysis()
    for graph in graphs(name):
        analysis.add(graph)
    return analysis.report().findings


def of(name: str, pattern: str) -> list[Finding]:
    return [finding for finding in findings(name) if finding.pattern == pattern]


def pcs(finding: Finding) -> list[int]:
    return [place.pc for place in finding.places]


def test_softmax_has_two_buffers_in_one_allocation_and_only_the_first_is_abused() -> None:
    (graph,) = graphs("softmax")
    shared = [part for part in graph.closed_subgraphs if part.spaces == {"shared"}]
    private, broadcast = sorted(shared, key=lambda part: -part.footprint)
    assert len(shared) == 2
    (abuse,) = of("softmax", "shared-memory-abuse")
    assert sorted(pcs(abuse)) == sorted(node.pc for node in private.nodes)
    assert not {node.pc for node in broadcast.nodes} & set(pcs(abuse))


def test_softmax_without_its_barrier_has_a_write_after_read() -> None:
    (race,) = of("softmax_racy", "race-candidate")
    assert race.variant == "WAR"
    write, read = race.places
    assert (write.pc, read.pc) == (0x670, 0x3F0)
    assert of("softmax", "race-candidate") == []


@pytest.mark.parametrize("name", CORRECT)
def test_correct_programs_raise_no_alarm(name: str) -> None:
    assert of(name, "race-candidate") == []


def test_only_the_transpose_without_padding_has_bank_conflicts() -> None:
    (conflict,) = of("transpose", "bank-conflict")
    assert conflict.kernel.name.startswith("transpose_unpadded(")


def test_contended_histogram_is_worse_in_global_memory() -> None:
    severities = {
        (finding.kernel.name.split("(")[0], finding.severity.name)
        for finding in of("histogram", "atomic-contention")
    }
    assert ("histogram_global", "HIGH") in severities
    assert ("histogram_shared", "HIGH") not in severities
