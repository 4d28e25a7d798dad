"""What the microbenchmarks plant is in the machine code, and the graphs derived for them are sound."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from cuvein.vocabulary import Label

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))

from harness import build, code, lines

from micro import expectations, graph

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("entry", expectations.BENCHMARKS, ids=lambda entry: f"{entry.program} {entry.word}")
def test_derived_graph_is_sound(entry: graph.Benchmark) -> None:
    """The invariants of profiles, and what edges may be."""
    keys = [node.key for node in entry.graph]
    assert len(keys) == len(set(keys))
    for node in entry.graph:
        lane_accesses = sum(lanes * count for lanes, count in node.lanes.items())
        # Copies that fill with zeros read less than their size.
        assert node.bytes == node.size * lane_accesses or node.asynchronous
        assert sum(edge.lanes for edge in node.edges) >= lane_accesses
        of_space = (
            {"words", "wavefronts", "ideal_wavefronts"}
            if node.space == "shared"
            else {"addresses", "sectors"}
        )
        for kind in graph.HISTOGRAMS[1:]:
            assert sum(getattr(node, kind).values()) == (node.executions if kind in of_space else 0)
        for edge in node.edges:
            origins = {n.type for n in entry.graph if (n.line, n.space) == (edge.origin, node.space)}
            assert edge.lanes > 0
            assert edge.label == "cold" or origins
            assert edge.unordered is None or origins | {node.type} not in ({"read"}, {"atomic"})


def test_many_kernels_plant_every_label() -> None:
    edges = [edge for entry in expectations.BENCHMARKS for node in entry.graph for edge in node.edges]
    assert {edge.label for edge in edges} == {label.name.lower() for label in Label}
    assert len({(entry.program, entry.kernel) for entry in expectations.BENCHMARKS}) >= 36


@pytest.mark.skipif(build.nvcc() is None, reason="no nvcc")
@pytest.mark.parametrize("program", expectations.programs())
def test_planted_accesses_are_in_the_code(program: str, tmp_path: Path) -> None:
    """Nothing was optimised away, nothing is there that was not planted."""
    cubin, source = tmp_path / f"{program}.cubin", expectations.source(program)
    command = [str(build.nvcc()), *build.FLAGS, "-arch=sm_90", "-Iexamples", "-cubin", "-o", str(cubin)]
    done = subprocess.run(
        [*command, str(source.relative_to(ROOT))], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, set[graph.Key]] = defaultdict(set)
    for (function, _), (line, sass) in lines.table(cubin, source).items():
        found[function].update((line or "?", space, kind) for space, kind in code.accesses(sass))
    for entry in expectations.programs()[program]:
        # `width16` is an instance of the template `width`.
        names = {entry.kernel, entry.kernel.rstrip("0123456789")}
        functions = [
            function
            for function in found
            if any(re.match(rf"_Z{len(name)}{name}(?![a-z0-9_])", function) for name in names)
        ]
        assert functions
        for function in functions:
            assert found[function] == {node.key for node in entry.graph}
