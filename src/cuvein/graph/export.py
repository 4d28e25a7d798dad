"""The graph in the forms of other libraries. Each is an optional dependency."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cuvein.graph.metrics import coalescing_ratio, conflict_ratio

if TYPE_CHECKING:
    from cuvein.graph.graph import Graph
    from cuvein.profile.model import Node

__all__ = ["UNTRACKED", "MissingExtra", "to_arrow", "to_networkx"]

UNTRACKED = "untracked"
"""The key of the target of all cold edges in exported graphs."""


class MissingExtra(ImportError):  # noqa: N818  (it says what to install, it is no failure of ours)
    """An optional library is needed and not installed; the message says which and how to get it."""


def _need(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(
            f"This needs {module}, which is not installed; install it with: pip install {module}", name=module
        ) from None


def _attributes(graph: Graph, node: Node) -> dict[str, Any]:
    function = graph.profile.launch.functions[node.function]
    return {
        "function": function.name,
        "pc": node.pc,
        "space": node.space,
        "type": node.type,
        "size": node.size,
        "asynchronous": node.asynchronous,
        "executions": node.executions,
        "bytes": node.bytes,
        "reuse_bytes": graph.reuse(node),
        "coalescing_ratio": coalescing_ratio(node),
        "conflict_ratio": conflict_ratio(node),
    }


def to_networkx(graph: Graph) -> Any:
    """Return a ``networkx.MultiDiGraph``: keys are node ids and ``"untracked"``, edge keys are labels.

    Edge attributes: ``label``, ``weight`` (bytes), ``count`` (lane accesses), ``unordered`` (bytes or
    ``None``).

    Raises
    ------
    MissingExtra
        If networkx is not installed.
    """
    networkx = _need("networkx")
    exported = networkx.MultiDiGraph(kernel=graph.profile.launch.kernel.name, profile=graph.profile.id)
    exported.add_node(UNTRACKED)
    for node in graph.nodes:
        exported.add_node(node.id, **_attributes(graph, node))
    for edge in graph.edges:
        target = UNTRACKED if edge.origin is None else edge.origin
        exported.add_edge(
            edge.node,
            target,
            key=edge.label,
            label=edge.label,
            weight=edge.bytes,
            count=edge.count,
            unordered=edge.unordered,
        )
    return exported


def to_arrow(graph: Graph) -> tuple[Any, Any]:
    """Return ``(nodes, edges)`` as ``pyarrow.Table``, one row each; columns as in `to_networkx`.

    The tables of many launches can be concatenated: both carry the columns ``profile`` and ``kernel``.

    Raises
    ------
    MissingExtra
        If pyarrow is not installed.
    """
    arrow = _need("pyarrow")
    origin = {"profile": graph.profile.id, "kernel": graph.profile.launch.kernel.name}
    node_schema = arrow.schema(
        [
            ("profile", arrow.string()),
            ("kernel", arrow.string()),
            ("node", arrow.int64()),
            ("function", arrow.string()),
            ("pc", arrow.int64()),
            ("space", arrow.string()),
            ("type", arrow.string()),
            ("size", arrow.int64()),
            ("asynchronous", arrow.bool_()),
            ("executions", arrow.int64()),
            ("bytes", arrow.int64()),
            ("reuse_bytes", arrow.int64()),
            ("coalescing_ratio", arrow.float64()),
            ("conflict_ratio", arrow.float64()),
        ]
    )
    edge_schema = arrow.schema(
        [
            ("profile", arrow.string()),
            ("kernel", arrow.string()),
            ("node", arrow.int64()),
            ("origin", arrow.int64()),
            ("label", arrow.string()),
            ("weight", arrow.int64()),
            ("count", arrow.int64()),
            ("unordered", arrow.int64()),
        ]
    )
    nodes = [{**origin, "node": node.id, **_attributes(graph, node)} for node in graph.nodes]
    edges = [
        {
            **origin,
            "node": edge.node,
            "origin": edge.origin,
            "label": edge.label,
            "weight": edge.bytes,
            "count": edge.count,
            "unordered": edge.unordered,
        }
        for edge in graph.edges
    ]
    return (
        arrow.Table.from_pylist(nodes, schema=node_schema),
        arrow.Table.from_pylist(edges, schema=edge_schema),
    )
