"""What the examples are said to plant, derived again: their kernels, simulated, put to the plain model.

This shows without a GPU that the formulae hold and that the order of the warps has no say in them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from cuvein.profile.model import Edge, LaunchProfile, Node
from reference.model import analyse
from reference.sample import LAUNCH, PROFILE

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))

from harness import examples, planted, simulated

if TYPE_CHECKING:
    from reference.graph import Graph


def profile_of(graph: Graph) -> LaunchProfile:
    """Write the model's graph as a profile; what the comparison does not look at is the sample's."""
    keys = sorted(graph.nodes)
    histograms = {
        key: {kind: sorted(getattr(graph.nodes[key], kind).items()) for kind in planted.DISTRIBUTIONS}
        for key in keys
    }
    nodes = [
        Node(
            id=index,
            function=0,
            pc=key[0],
            space=key[1].name.lower(),  # type: ignore[arg-type]
            type=key[2].name.lower(),  # type: ignore[arg-type]
            size=graph.nodes[key].size,
            asynchronous=graph.nodes[key].asynchronous,
            executions=graph.nodes[key].executions,
            bytes=graph.nodes[key].bytes,
            allocations=[],
            **histograms[key],
        )
        for index, key in enumerate(keys)
    ]
    edges = [
        Edge(
            node=keys.index(key),
            origin=None if origin is None else keys.index(origin),
            label=label.name.lower(),  # type: ignore[arg-type]
            bytes=edge.bytes,
            count=edge.count,
            unordered=edge.unordered,
        )
        for (key, origin, label), edge in graph.edges.items()
    ]
    return msgspec.structs.replace(PROFILE, nodes=nodes, edges=edges)


def simulate(
    blocks: int, warps: int, program: simulated.Program, seed: int
) -> tuple[LaunchProfile, planted.Lines]:
    pcs: dict[str, int] = {}
    stream = simulated.records(simulated.schedule(blocks, warps, program, seed), pcs)
    launch = msgspec.structs.replace(LAUNCH, grid=(blocks, 1, 1), block=(32 * warps, 1, 1), allocations=[])
    graph = analyse([launch], stream)[launch.sequence].graph
    return profile_of(graph), {(LAUNCH.kernel.mangled, pc): (line, "") for line, pc in pcs.items()}


@pytest.mark.parametrize("simulation", simulated.SIMULATIONS, ids=lambda entry: f"{entry[0]}-{entry[2]}")
def test_formulae_hold_in_any_order_of_the_warps(simulation: simulated.Simulation) -> None:
    _, expected, kernel, blocks, warps, program = simulation
    # The plain model takes seconds for the large ones.
    for seed in (1, 2) if blocks * warps < 100 else (1,):
        profile, lines = simulate(blocks, warps, program, seed)
        assert planted.differences(profile, lines, expected[kernel]) == []


def test_comparison_notices_what_differs() -> None:
    profile, lines = simulate(3, 4, simulated.labels, 1)
    right = examples.labels(3)["labels"]
    assert planted.differences(profile, lines, right) == []
    assert planted.differences(profile, lines, examples.labels(4)["labels"]) != []
    assert planted.differences(profile, lines, right[1:]) != []
    assert planted.differences(profile, {}, right) != []
    wrong = msgspec.structs.replace(profile, edges=[*profile.edges[1:], profile.edges[-1]])
    assert planted.differences(wrong, lines, right) != []
