"""Colours, bars and words of the terminal report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from cuvein.graph.labels import LABELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cuvein.profile.model import LabelName, SpaceName

__all__ = ["ASYNCHRONOUS", "LABEL_STYLES", "MEANINGS", "SPACES", "SPACE_NAMES", "Glyphs", "printable"]

SPACES: tuple[SpaceName, ...] = ("global", "shared", "local", "distributed_shared")

LABEL_STYLES: dict[LabelName, str] = {
    "cold": "dim",
    "thread": "green",
    "warp_same_inst": "cyan",
    "warp_diff_inst": "blue",
    "block": "yellow",
    "cluster": "magenta",
    "grid": "red",
}
SPACE_NAMES: dict[SpaceName, str] = {
    "global": "global",
    "shared": "shared",
    "local": "local",
    "distributed_shared": "distr. shared",
}
MEANINGS: dict[LabelName, str] = {
    "cold": "first touch of the byte in its launch",
    "thread": "last touched by the same thread",
    "warp_same_inst": "touched by another lane of the same warp in this very instruction",
    "warp_diff_inst": "last touched by another lane of the same warp in another instruction",
    "block": "last touched by another warp of the same block",
    "cluster": "last touched by another block of the same cluster",
    "grid": "last touched by another block of the grid",
}

ASYNCHRONOUS = "half of an asynchronous copy: its read of global or its write of shared memory"


def printable(text: str) -> str:
    """Replace what would move the cursor or change colours; names of kernels come from elsewhere."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


@dataclass(frozen=True)
class Glyphs:
    """Characters the output can show."""

    full: str
    partial: str
    times: str
    dot: str
    dash: str
    ellipsis: str

    @classmethod
    def choose(cls, *, unicode: bool) -> Glyphs:
        """Return the characters for a terminal that has Unicode, or only ASCII."""
        if unicode:
            return cls("█", "▏▎▍▌▋▊▉", "×", "·", "–", "…")  # noqa: RUF001
        return cls("#", "", "x", "-", "-", "~")

    def bar(self, part: int, whole: int, width: int, style: str) -> Text:
        """Draw a bar of ``width`` characters for the whole; what is there shows at least a sliver."""
        if whole <= 0 or part <= 0:
            return Text("")
        steps = len(self.partial) + 1
        filled = max(1, round(part / whole * width * steps))
        text = self.full * (filled // steps)
        if filled % steps:
            text += self.partial[filled % steps - 1]
        return Text(text, style=style)

    def stack(self, parts: Mapping[LabelName, int], width: int) -> Text:
        """Draw one bar of all labels side by side, exactly ``width`` characters unless there is nothing."""
        whole = sum(parts.values())
        text = Text()
        if whole == 0:
            return text
        drawn = done = 0
        for label in LABELS:
            done += parts.get(label, 0)
            end = round(done / whole * width)
            text.append(self.full * (end - drawn), LABEL_STYLES[label])
            drawn = end
        return text
