"""Which part of a node's work the bytes of some labels stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.graph import Totals
from cuvein.graph.labels import index_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.graph import Graph
    from cuvein.profile.model import LabelName, Node

__all__ = ["by_share", "part_of"]


def part_of(node: Node, part: int, *, instructions: bool = True) -> Totals:
    """Return the part of a node's work that some of its bytes stand for, in proportion.

    Parameters
    ----------
    node
        The node.
    part
        The bytes.
    instructions
        Whether the instructions themselves would go, or only what they move.
    """
    share = part / node.bytes if node.bytes else 0.0
    work = Totals.of([node]).scaled(share)
    return Totals(work.instructions if instructions else 0, work.wavefronts, work.sectors, part)


def by_share(
    graph: Graph, nodes: Iterable[Node], labels: Iterable[LabelName], *, instructions: bool
) -> list[tuple[Node, Totals]]:
    """Return nodes with the part of their work that bytes of the labels stand for, largest first."""
    positions = [index_of(label) for label in labels]
    parts = []
    for node in nodes:
        weights = graph.weights(node)
        part = sum(weights[position] for position in positions)
        parts.append((node, part_of(node, part, instructions=instructions)))
    parts.sort(key=lambda pair: (-pair[1].bytes, pair[0].id))
    return parts
