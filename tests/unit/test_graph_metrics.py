"""The metrics of ``docs/graph.md``, each worked out by hand."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuvein.graph import (
    LABELS,
    WITHIN_BLOCK,
    coalescing_ratio,
    conflict_ratio,
    mean,
    mode,
    reuse_intensity,
    reuse_ratio,
    total,
    weighted_sum,
)
from unit.profiles.maker import Maker

BYTES = 16 * 32 * 4


def test_histogram_arithmetic():
    histogram = [(1, 3), (4, 1), (8, 4)]
    assert (total(histogram), weighted_sum(histogram), mean(histogram), mode(histogram)) == (8, 39, 39 / 8, 8)
    assert (total([]), weighted_sum([]), mean([]), mode([])) == (0, 0, 0.0, 0)


def test_mode_of_a_tie_is_the_smaller_value():
    assert mode([(2, 5), (32, 5)]) == 2


def test_reuse_ratio_is_over_reuse_only():
    maker = Maker()
    maker.node()
    maker.edge(0, 0, "grid", BYTES // 8)
    maker.edge(0, 0, "thread", BYTES // 8)
    maker.edge(0, 0, "warp_same_inst", BYTES // 4)
    subgraph = maker.graph().whole
    assert reuse_ratio(subgraph, "grid") == 0.5
    assert reuse_ratio(subgraph, WITHIN_BLOCK) == 0.5
    assert reuse_ratio(subgraph, ["grid", "thread"]) == 1


def test_reuse_ratio_without_reuse_is_zero():
    maker = Maker()
    maker.node()
    assert reuse_ratio(maker.graph().whole, "grid") == 0


@pytest.mark.parametrize("label", ["cold", "warp_same_inst"])
def test_what_is_no_reuse_has_no_reuse_ratio(label):
    with pytest.raises(ValueError, match="not reuse"):
        reuse_ratio(Maker().graph().whole, label)


def test_reuse_intensity_is_traffic_over_footprint():
    maker = Maker()
    write = maker.node("write", "shared")
    read = maker.node("read", "shared", executions=48)
    maker.edge(read, write, "block", BYTES)
    maker.edge(read, read, "thread")
    assert reuse_intensity(maker.graph().closed_subgraphs[0]) == 4
    assert write == 0


def test_reuse_intensity_needs_a_closed_subgraph():
    maker = Maker()
    maker.node("write", "shared")
    maker.node("read", "shared")
    maker.edge(1, 0, "block")
    with pytest.raises(ValueError, match="closed subgraphs only"):
        reuse_intensity(maker.graph().subgraph([1]))


def test_reuse_intensity_without_first_touch():
    maker = Maker()
    maker.node()
    maker.edge(0, 0, "grid")
    assert reuse_intensity(maker.graph().whole) == inf
    assert reuse_intensity(Maker().graph().whole) == 0


@pytest.mark.parametrize(
    ("lanes", "size", "sectors", "ratio"),
    [
        (32, 4, 4, 1.0),  # side by side
        (32, 4, 16, 4.0),  # every fourth float: CASES 1
        (32, 4, 32, 8.0),  # a sector each: the worst for 4 bytes
        (32, 4, 5, 1.25),  # side by side, not aligned to a sector
        (32, 4, 1, 0.25),  # all lanes one address
        (1, 4, 1, 1.0),  # a lone lane needs its sector
        (9, 4, 2, 1.0),  # 36 bytes need two
        (32, 16, 16, 1.0),
    ],
)
def test_coalescing_ratio(lanes, size, sectors, ratio):
    maker = Maker()
    maker.node(lanes=lanes, size=size, sectors=sectors, addresses=min(lanes, 32))
    assert coalescing_ratio(maker.graph().nodes[0]) == ratio


def test_coalescing_ratio_compares_expected_values_not_executions():
    maker = Maker()
    maker.node(executions=4, lanes={8: 2, 32: 2}, addresses={8: 2, 32: 2}, sectors={8: 3, 4: 1})
    # sectors: 28 in all; ideal: 1, 1, 4, 4
    assert coalescing_ratio(maker.graph().nodes[0]) == 2.8


def test_coalescing_ratio_of_shared_memory_is_none():
    maker = Maker()
    maker.node(space="shared")
    maker.node()
    graph = maker.graph()
    assert coalescing_ratio(graph.nodes[0]) == 0
    assert conflict_ratio(graph.nodes[1]) == 0


@pytest.mark.parametrize(
    ("wavefronts", "ideal", "ratio"), [(1, 1, 1.0), (32, 1, 32.0), (8, 4, 2.0), ({1: 8, 2: 8}, 1, 1.5)]
)
def test_conflict_ratio(wavefronts, ideal, ratio):
    maker = Maker()
    maker.node(space="shared", wavefronts=wavefronts, ideal=ideal)
    assert conflict_ratio(maker.graph().nodes[0]) == ratio


@given(st.data())
def test_closed_subgraphs_partition_every_graph(data):
    """Components are disjoint, cover all nodes, are closed, and their bytes add up; ratios add up to 1."""
    count = data.draw(st.integers(1, 12))
    maker = Maker()
    for _ in range(count):
        maker.node("read", "global")
    for node in range(count):
        for origin in sorted(data.draw(st.sets(st.integers(0, count - 1), max_size=3))):
            label = data.draw(st.sampled_from(["thread", "warp_diff_inst", "block", "grid"]))
            maker.edge(node, origin, label, data.draw(st.integers(1, BYTES // 4)))
    graph = maker.graph()
    subgraphs = graph.closed_subgraphs
    assert sorted(identifier for subgraph in subgraphs for identifier in subgraph.ids) == list(range(count))
    assert all(subgraph.is_closed for subgraph in subgraphs)
    assert sum(subgraph.traffic for subgraph in subgraphs) == graph.totals.bytes
    for subgraph in subgraphs:
        assert sum(subgraph.weighted_out_degree(label) for label in LABELS) == subgraph.traffic
        if subgraph.reuse:
            ratios = [
                reuse_ratio(subgraph, label) for label in LABELS if label not in ("cold", "warp_same_inst")
            ]
            assert sum(ratios) == pytest.approx(1)
        # Minimal: no proper subset of the nodes is closed.
        for identifier in subgraph.ids if len(subgraph) > 1 else ():
            assert not graph.subgraph(subgraph.ids - {identifier}).is_closed
