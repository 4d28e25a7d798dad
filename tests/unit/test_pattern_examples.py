"""What is found in the examples, simulated: everything that is planted, and nothing that is not there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from cuvein.findings import Analysis
from cuvein.graph import Graph, reuse_ratio
from reference import engine
from reference.sample import LAUNCH

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))

from harness import simulated

if TYPE_CHECKING:
    from cuvein.patterns import Finding


class Simulated:
    """A kernel's graph and findings, with the names of its source lines for its PCs."""

    def __init__(self, blocks: int, warps: int, program: simulated.Program, seed: int = 1) -> None:
        pcs: dict[str, int] = {}
        stream = simulated.records(simulated.schedule(blocks, warps, program, seed), pcs)
        launch = msgspec.structs.replace(
            LAUNCH, grid=(blocks, 1, 1), block=(32 * warps, 1, 1), allocations=[]
        )
        profile = engine.profiles([launch], stream, workers=2)[launch.sequence]
        self.lines = {pc: line for line, pc in pcs.items()}
        self.graph = Graph(profile)
        analysis = Analysis()
        analysis.add(self.graph)
        self.findings = analysis.report().findings

    def found(self, *, streaming: bool = False) -> set[tuple[str, frozenset[str]]]:
        """Return patterns with the lines they are about."""
        return {
            (finding.pattern, frozenset(self.at(finding)))
            for finding in self.findings
            if streaming or finding.pattern != "streaming"
        }

    def at(self, finding: Finding) -> list[str]:
        return [self.lines[place.pc] for place in finding.places]

    def of(self, pattern: str) -> list[Finding]:
        return [finding for finding in self.findings if finding.pattern == pattern]


def lines(*names: str) -> frozenset[str]:
    return frozenset(names)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("simulation", simulated.SIMULATIONS, ids=lambda entry: f"{entry[0]}-{entry[2]}")
def test_correctly_synchronised_kernels_raise_no_alarm(simulation, seed):
    _, _, _, blocks, warps, program = simulation
    assert Simulated(blocks, warps, program, seed).of("race-candidate") == []


def test_softmax_values_are_private_and_its_buffer_is_not():
    softmax = Simulated(2, 8, simulated.softmax(512))
    (abuse,) = softmax.of("shared-memory-abuse")
    values = set(softmax.at(abuse))
    assert values == {"keep", "again", "exponential", "last"}
    shared = [subgraph for subgraph in softmax.graph.closed_subgraphs if subgraph.spaces == {"shared"}]
    assert len(shared) == 2
    (buffer,) = [each for each in shared if softmax.lines[each.nodes[0].pc] not in values]
    assert reuse_ratio(buffer, "block") > 0


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_softmax_without_its_barrier_has_a_write_after_read(seed):
    racy = Simulated(2, 8, simulated.softmax(512, racy=True), seed)
    races = [(finding.variant, racy.at(finding), finding.scope) for finding in racy.of("race-candidate")]
    assert ("WAR", ["sum_store", "greatest_load"], "block") in races


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tile_loop_without_its_trailing_barrier(seed):
    assert Simulated(1, 4, simulated.tiles(8, racy=False), seed).of("race-candidate") == []
    racy = Simulated(1, 4, simulated.tiles(8, racy=True), seed)
    assert {frozenset(racy.at(finding)) for finding in racy.of("race-candidate")} == {
        lines("write", "neighbour")
    }


def test_transpose_conflicts_until_it_is_padded():
    unpadded = Simulated(4, 8, simulated.transpose(64, 0))
    padded = Simulated(4, 8, simulated.transpose(64, 1))
    (conflict,) = unpadded.of("bank-conflict")
    assert conflict.evidence["conflict_ratio"] == 32
    assert unpadded.found() - padded.found() == {("bank-conflict", frozenset(unpadded.at(conflict)))}
    assert padded.found() == set()


def test_histogram_contends_less_in_shared_memory():
    (in_global,) = Simulated(3, 8, simulated.histogram_global(spread=False)).of("atomic-contention")
    in_shared = Simulated(3, 8, simulated.histogram_shared(spread=False)).of("atomic-contention")
    assert in_global.evidence["warp_same_inst_share"] == 31 / 32
    assert all(
        finding.severity < in_global.severity for finding in in_shared if finding.places[0].space == "shared"
    )


def test_asynchronous_pipeline_and_tiled_loads_are_clean():
    assert Simulated(2, 4, simulated.async_copy(4)).found() == set()


def test_matmul_reuses_its_inputs_across_blocks():
    matmul = Simulated(4, 32, simulated.matmul(64))
    patterns = {pattern for pattern, _ in matmul.found()}
    assert "grid-dominant-reuse" in patterns
    assert patterns.isdisjoint({"bank-conflict", "shared-memory-abuse", "poor-coalescing", "race-candidate"})
