"""What the examples are said to plant, derived again: their kernels, simulated, put to the host engine.

This shows without a GPU that the formulae hold and that neither the order of the warps nor the number of
workers has a say in them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from cuvein.profile import violations
from reference import engine
from reference.sample import LAUNCH

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))

from harness import cases, examples, planted, simulated

if TYPE_CHECKING:
    from cuvein.profile import LaunchProfile


def simulate(
    blocks: int, warps: int, program: simulated.Program, seed: int
) -> tuple[LaunchProfile, planted.Lines]:
    pcs: dict[str, int] = {}
    stream = simulated.records(simulated.schedule(blocks, warps, program, seed), pcs)
    launch = msgspec.structs.replace(LAUNCH, grid=(blocks, 1, 1), block=(32 * warps, 1, 1), allocations=[])
    profile = engine.profiles([launch], stream, workers=seed)[launch.sequence]
    return profile, {(LAUNCH.kernel.mangled, pc): (line, "") for line, pc in pcs.items()}


@pytest.mark.parametrize("simulation", simulated.SIMULATIONS, ids=lambda entry: f"{entry[0]}-{entry[2]}")
def test_formulae_hold_in_any_order_of_the_warps(simulation: simulated.Simulation) -> None:
    _, expected, kernel, blocks, warps, program = simulation
    for seed in (1, 2, 3):
        profile, lines = simulate(blocks, warps, program, seed)
        assert violations(profile) == []
        assert planted.differences(profile, lines, expected[kernel]) == []


@pytest.mark.parametrize("seed", range(1, 6))
def test_missing_barriers_show_as_unordered_bytes_in_any_order(seed: int) -> None:
    softmax, lines = simulate(2, 8, simulated.softmax(512, racy=True), seed)
    seen = planted.observe(softmax, lines)
    assert 4 * 2 * 8 <= planted.unordered(seen, "sum_store", "greatest_load") <= 8 * 2 * 8
    assert planted.unordered(seen, "greatest_store", "greatest_load") == 0

    tiles, lines = simulate(1, 4, simulated.tiles(8, racy=True), seed)
    assert planted.unordered(planted.observe(tiles, lines), "write", "neighbour") == 512 * 7
    tiles, lines = simulate(1, 4, simulated.tiles(8, racy=False), seed)
    assert planted.differences(tiles, lines, cases.tiles(8)["tiles"]) == []
    assert planted.unordered(planted.observe(tiles, lines), "write", "neighbour") == 0


def test_comparison_notices_what_differs() -> None:
    profile, lines = simulate(3, 4, simulated.labels, 1)
    right = examples.labels(3)["labels"]
    assert planted.differences(profile, lines, right) == []
    assert planted.differences(profile, lines, examples.labels(4)["labels"]) != []
    assert planted.differences(profile, lines, right[1:]) != []
    assert planted.differences(profile, {}, right) != []
    wrong = msgspec.structs.replace(profile, edges=[*profile.edges[1:], profile.edges[-1]])
    assert planted.differences(wrong, lines, right) != []
