"""Bank conflicts: a shared-memory instruction needs more wavefronts than its words."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cuvein.graph import Totals, conflict_ratio, mean, weighted_sum
from cuvein.patterns.finding import Description, Detection, Effect
from cuvein.patterns.pattern import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuvein.graph import Graph
    from cuvein.patterns.thresholds import Thresholds
    from cuvein.profile.model import Node

__all__ = ["PATTERN"]

# Asynchronous copies of so many bytes a lane go past L1.
_PAST_L1 = 16
_COPY = (
    "Lanes of a copy take turns also where they read at one bank of L1, which padding the tile does not "
    "change: there, let a warp read 128 bytes in a row, or copy 16 bytes a lane."
)


def _find(graph: Graph, thresholds: Thresholds) -> Iterator[Detection]:
    for node in graph.nodes:
        if not node.wavefronts:
            continue
        ratio = conflict_ratio(node)
        if ratio > 1 and ratio >= thresholds.conflict:
            excess = weighted_sum(node.wavefronts) - weighted_sum(node.ideal_wavefronts)
            yield Detection(
                [(node, Totals(wavefronts=excess))],
                partial(_describe, node, ratio),
                caveat=_COPY if node.asynchronous and node.size < _PAST_L1 else None,
            )


def _describe(node: Node, ratio: float) -> Description:
    return Description(
        f"{mean(node.wavefronts):.1f} wavefronts an instruction where {mean(node.ideal_wavefronts):.1f} "
        f"would do: "
        f"ratio {ratio:.2f}.",
        {
            "conflict_ratio": ratio,
            "wavefronts": weighted_sum(node.wavefronts),
            "ideal_wavefronts": weighted_sum(node.ideal_wavefronts),
            "mean_wavefronts": mean(node.wavefronts),
            "mean_words": mean(node.words),
            "access_bytes": node.size,
        },
    )


PATTERN = Pattern(
    name="bank-conflict",
    title="Bank conflict",
    scope="warp",
    effect=Effect.REMOVES,
    mechanism="Pad the rows of the tile by one element, or swizzle the column index with the row.",
    caveat=(
        "Padding breaks the alignment vector accesses and matrix loads need and takes shared memory: swizzle "
        "there."
    ),
    find=_find,
)
