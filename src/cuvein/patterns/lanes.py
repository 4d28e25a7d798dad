"""What the lanes of a warp do at a node: the words the warp-level rules share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.graph.histogram import mode
from cuvein.vocabulary import BANK_BYTES

if TYPE_CHECKING:
    from cuvein.profile.model import Node

__all__ = ["active_lanes", "distinct_addresses", "is_broadcast", "is_multicast"]


def active_lanes(node: Node) -> int:
    """Return the usual number of active lanes: the mode of the lane distribution."""
    return mode(node.lanes)


def distinct_addresses(node: Node) -> int:
    """Return the usual number of distinct addresses.

    For shared memory, which counts 32-bit words, the words an element takes are one address; elements smaller
    than a word that share one are not told apart.
    """
    if node.addresses:
        return mode(node.addresses)
    words_each = max(1, node.size // BANK_BYTES)
    return -(-mode(node.words) // words_each)


def is_broadcast(node: Node) -> bool:
    """Return whether the node is a read by several lanes of, usually, one address in global memory."""
    return (
        node.space == "global"
        and node.type == "read"
        and active_lanes(node) > 1
        and mode(node.addresses) == 1
    )


def is_multicast(node: Node) -> bool:
    """Return whether the node is a read of, usually, several addresses by more lanes in global memory."""
    return node.space == "global" and node.type == "read" and 1 < mode(node.addresses) < active_lanes(node)
