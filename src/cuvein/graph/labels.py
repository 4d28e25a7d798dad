"""The labels of edges in the order of their scope, and the sets of them the metrics use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.vocabulary import Label

if TYPE_CHECKING:
    from cuvein.profile.model import LabelName

__all__ = ["INDEX", "LABELS", "REUSE_LABELS", "WITHIN_BLOCK", "index_of"]

LABELS: tuple[LabelName, ...] = (
    "cold",
    "thread",
    "warp_same_inst",
    "warp_diff_inst",
    "block",
    "cluster",
    "grid",
)
"""All labels, from none to the widest scope. The position is the value of ``cuvein.vocabulary.Label``."""

REUSE_LABELS: tuple[LabelName, ...] = ("thread", "warp_diff_inst", "block", "cluster", "grid")
"""The labels that count as reuse: neither first touches nor lanes served by the same instruction."""

WITHIN_BLOCK: tuple[LabelName, ...] = ("thread", "warp_diff_inst", "block")
"""Reuse that stays inside a block."""

INDEX: dict[str, int] = {name: position for position, name in enumerate(LABELS)}
"""The position of each label in ``LABELS``."""


def index_of(label: LabelName | Label) -> int:
    """Return the position of a label in ``LABELS``.

    Raises
    ------
    ValueError
        If it is not one of the seven labels.
    """
    if isinstance(label, Label):
        return int(label)
    try:
        return INDEX[label]
    except KeyError:
        raise ValueError(f"{label!r} is not a label; the labels are {', '.join(LABELS)}.") from None
