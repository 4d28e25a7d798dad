"""The four quantities a fix can save, summed over nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from cuvein.graph.histogram import weighted_sum

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.profile.model import Node

__all__ = ["Totals"]


class Totals(msgspec.Struct, frozen=True, gc=False):
    """Amounts of memory work.

    Attributes
    ----------
    instructions
        Warp-level memory instructions executed; the two halves of an asynchronous copy count as two.
    wavefronts
        Shared-memory wavefronts.
    sectors
        32-byte sectors of global and local memory.
    bytes
        Bytes the active lanes accessed.
    """

    instructions: int = 0
    wavefronts: int = 0
    sectors: int = 0
    bytes: int = 0

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> Totals:
        """Return what the nodes amount to together."""
        instructions = wavefronts = sectors = accessed = 0
        for node in nodes:
            instructions += node.executions
            accessed += node.bytes
            wavefronts += weighted_sum(node.wavefronts)
            sectors += weighted_sum(node.sectors)
        return cls(instructions, wavefronts, sectors, accessed)

    @property
    def transactions(self) -> int:
        """Sectors and wavefronts together: the units in which the memory pipeline serves instructions."""
        return self.wavefronts + self.sectors

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.instructions + other.instructions,
            self.wavefronts + other.wavefronts,
            self.sectors + other.sectors,
            self.bytes + other.bytes,
        )

    def __sub__(self, other: Totals) -> Totals:
        return Totals(
            self.instructions - other.instructions,
            self.wavefronts - other.wavefronts,
            self.sectors - other.sectors,
            self.bytes - other.bytes,
        )

    def largest(self, other: Totals) -> Totals:
        """Return the larger of each quantity."""
        return Totals(
            max(self.instructions, other.instructions),
            max(self.wavefronts, other.wavefronts),
            max(self.sectors, other.sectors),
            max(self.bytes, other.bytes),
        )

    def scaled(self, factor: float) -> Totals:
        """Return the same share of all four, rounded to whole units."""
        return Totals(
            round(self.instructions * factor),
            round(self.wavefronts * factor),
            round(self.sectors * factor),
            round(self.bytes * factor),
        )
