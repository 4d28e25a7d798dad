"""The graph reads like the paper's Section 3."""

from __future__ import annotations

import gc
import weakref

import pytest

from cuvein.graph import Graph, MissingExtra, export, load, stream
from cuvein.profile import ProfileReadError, encode
from cuvein.vocabulary import Label
from unit.profiles.maker import Maker

BYTES = 16 * 32 * 4


@pytest.fixture
def softmax() -> Maker:
    """Softmax in small: thread-private values and a broadcast buffer, both in shared memory."""
    maker = Maker("soft_max(float *)")
    maker.node("read")  # 0: x
    maker.node("write", "shared")  # 1: vals
    maker.node("read", "shared")  # 2: vals
    maker.node("write", "shared", lanes=1)  # 3: buffer
    maker.node("read", "shared")  # 4: buffer
    maker.edge(2, 1, "thread")
    maker.edge(4, 3, "block", BYTES // 2)
    maker.edge(4, 4, "warp_diff_inst", BYTES // 4)
    maker.edge(4, 4, "warp_same_inst")
    return maker


def test_out_and_in_edges_are_those_of_the_node(softmax):
    graph = softmax.graph()
    assert [(edge.origin, edge.label) for edge in graph.out_edges(graph.node(2))] == [(1, "thread")]
    assert [edge.node for edge in graph.in_edges(graph.node(1))] == [2]
    assert {edge.label for edge in graph.in_edges(graph.node(4))} == {"warp_diff_inst", "warp_same_inst"}


def test_weighted_out_degree_is_by_label_and_in_all(softmax):
    graph = softmax.graph()
    node = graph.node(4)
    assert graph.weighted_out_degree(node, "block") == BYTES // 2
    assert graph.weighted_out_degree(node, Label.BLOCK) == BYTES // 2
    assert graph.weighted_out_degree(node, "cold") == 0
    assert graph.weighted_out_degree(node) == node.bytes


def test_reuse_leaves_out_cold_and_same_instruction(softmax):
    graph = softmax.graph()
    assert graph.reuse(graph.node(0)) == 0
    assert graph.reuse(graph.node(4)) == BYTES * 3 // 4


def test_unknown_label_is_refused_by_name(softmax):
    graph = softmax.graph()
    with pytest.raises(ValueError, match="'warp' is not a label; the labels are cold, thread"):
        graph.weighted_out_degree(graph.node(0), "warp")


def test_two_buffers_of_one_allocation_are_two_closed_subgraphs(softmax):
    graph = softmax.graph()
    assert sorted(sorted(subgraph.ids) for subgraph in graph.closed_subgraphs) == [[0], [1, 2], [3, 4]]
    assert all(subgraph.is_closed for subgraph in graph.closed_subgraphs)
    assert graph.closed_subgraph_of(graph.node(3)).ids == {3, 4}


def test_closed_subgraphs_come_heaviest_first(softmax):
    traffic = [subgraph.traffic for subgraph in softmax.graph().closed_subgraphs]
    assert traffic == sorted(traffic, reverse=True)


def test_footprint_and_traffic_of_a_closed_subgraph(softmax):
    graph = softmax.graph()
    subgraph = graph.closed_subgraph_of(graph.node(1))
    assert (subgraph.footprint, subgraph.traffic, subgraph.reuse) == (BYTES, 2 * BYTES, BYTES)


def test_part_of_a_component_is_not_closed_either_way(softmax):
    graph = softmax.graph()
    assert not graph.subgraph([2]).is_closed  # an edge leaves
    assert not graph.subgraph([1]).is_closed  # an edge enters
    assert graph.subgraph([1, 2]).is_closed
    assert graph.whole.is_closed


def test_selection_by_space_type_function_and_condition(softmax):
    graph = softmax.graph()
    assert graph.select(space="shared", type="write").ids == {1, 3}
    assert graph.select(function="soft_max(float *)").ids == {0, 1, 2, 3, 4}
    assert graph.select(function="other").ids == frozenset()
    assert graph.select(where=lambda node: node.executions * 32 * 4 != node.bytes).ids == {3}


def test_subgraph_of_an_unknown_node_is_refused(softmax):
    with pytest.raises(KeyError, match="no node 9"):
        softmax.graph().subgraph([0, 9])


def test_totals_are_the_work_of_all_nodes(softmax):
    totals = softmax.graph().totals
    assert totals.instructions == 5 * 16
    assert totals.sectors == 16 * 4
    assert totals.wavefronts == 4 * 16
    assert totals.transactions == 16 * 8
    assert totals.bytes == 4 * BYTES + BYTES // 32


def test_graph_is_freed_with_its_last_reference(softmax):
    graph = softmax.graph()
    assert graph.closed_subgraphs
    assert graph.whole.is_closed
    gone = weakref.ref(graph)
    gc.disable()
    try:
        del graph
        assert gone() is None
    finally:
        gc.enable()


def test_empty_profile_has_an_empty_graph():
    graph = Maker().graph()
    assert graph.closed_subgraphs == ()
    assert graph.totals.bytes == 0


def test_contradicting_edge_is_refused(softmax):
    profile = softmax.profile()
    profile.edges[0] = type(profile.edges[0])(0, None, "grid", 4, 1)
    with pytest.raises(ValueError, match="grid edge without an origin"):
        Graph(profile)


def test_networkx_graph_has_the_same_edges_and_weights(softmax):
    graph = softmax.graph()
    exported = graph.to_networkx()
    assert exported.number_of_nodes() == len(graph.nodes) + 1
    assert exported.number_of_edges() == len(graph.edges)
    assert exported.edges[4, 3, "block"]["weight"] == BYTES // 2
    assert exported.edges[0, "untracked", "cold"]["weight"] == BYTES
    assert exported.nodes[1]["space"] == "shared"


def test_missing_extra_says_what_to_install(softmax, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(export, "import_module", missing)
    for convert in (softmax.graph().to_arrow, softmax.graph().to_networkx):
        with pytest.raises(
            MissingExtra, match=r"not installed; install it with: pip install (pyarrow|networkx)"
        ):
            convert()


def test_arrow_tables_have_a_row_for_each_node_and_edge(softmax):
    pytest.importorskip("pyarrow", reason="pyarrow is an optional extra and is not installed")
    graph = softmax.graph()
    nodes, edges = graph.to_arrow()
    assert nodes.num_rows == len(graph.nodes)
    assert sum(edges.column("weight").to_pylist()) == graph.totals.bytes


def test_load_takes_a_file_or_a_folder_of_one(softmax, tmp_path):
    path = tmp_path / "process-1" / "launch-000001.json"
    path.parent.mkdir()
    path.write_bytes(encode(softmax.profile()))
    assert load(path).totals == load(tmp_path).totals == softmax.graph().totals


def test_load_of_several_asks_for_one(softmax, tmp_path):
    for number in (1, 2):
        (tmp_path / f"launch-00000{number}.json").write_bytes(encode(softmax.profile(number)))
    with pytest.raises(ProfileReadError, match="holds 2 launch profiles; name one"):
        load(tmp_path)
    assert [graph.profile.launch.sequence for graph in stream(tmp_path)] == [1, 2]


def test_stream_of_an_empty_folder_fails_before_the_first_graph(tmp_path):
    with pytest.raises(ProfileReadError, match="holds no launch profiles"):
        stream(tmp_path)
