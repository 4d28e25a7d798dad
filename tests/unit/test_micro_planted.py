"""The graphs derived for the microbenchmarks, again: their kernels, simulated, put to the host engine.

This shows without a GPU that the formulae hold and that the order of the warps has no say in them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from cuvein.profile import violations
from reference import engine
from reference.sample import LAUNCH

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))

from harness import micro as simulated
from harness import threads

from micro import expectations, graph

# What takes a minute each; the kernels are here with other parameters.
LARGE = 200_000
SMALL = [
    entry
    for entry in expectations.BENCHMARKS
    if sum(n.executions * max(n.lanes) for n in entry.graph) < LARGE
]


@pytest.mark.parametrize("entry", SMALL, ids=lambda entry: f"{entry.program} {entry.word}")
def test_formulae_hold_in_any_order_of_the_warps(entry: graph.Benchmark) -> None:
    for seed in (1, 2):
        blocks, block, kernel = simulated.shape(entry.kernel, entry.parameters)
        cluster = 2 if entry.kernel == "cluster" else 1
        pcs: dict[str, int] = {}
        stream = list(threads.records(kernel, blocks, block, seed, pcs=pcs, cluster=cluster))
        launch = msgspec.structs.replace(
            LAUNCH,
            grid=(blocks, 1, 1),
            block=(block, 1, 1),
            cluster=(cluster, 1, 1) if cluster > 1 else None,
            allocations=[],
        )
        profile = engine.profiles([launch], stream, workers=seed)[launch.sequence]
        lines = {pc: line for line, pc in pcs.items()}
        names = [lines[node.pc & ~1] for node in profile.nodes]
        assert violations(profile) == []
        assert graph.differences(profile, names, entry.graph) == []


def test_every_kernel_is_simulated() -> None:
    kernels = {(entry.program, entry.kernel) for entry in expectations.BENCHMARKS}
    left = kernels - {(entry.program, entry.kernel) for entry in SMALL}
    assert left <= {("shapes", "large_shared")}
