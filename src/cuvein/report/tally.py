"""Accesses added up under whatever a report groups them by."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from cuvein.profile.model import LabelName, SpaceName, TypeName
    from cuvein.report.summary import AccessSummary

__all__ = ["AccessKind", "Tally"]


class AccessKind(NamedTuple):
    """Accesses alike: in one space, of one type and size in bytes for a lane."""

    space: SpaceName
    type: TypeName
    size: int
    asynchronous: bool


@dataclass
class Tally:
    """Sums over accesses.

    Attributes
    ----------
    used, ideal
        Sectors (global, local) or wavefronts (shared), and how few would have done; never both in one tally.
    labels
        Bytes by label.
    """

    executions: int = 0
    bytes: int = 0
    used: int = 0
    ideal: int = 0
    labels: Counter[LabelName] = field(default_factory=Counter)

    def add(self, access: AccessSummary) -> None:
        """Add an instruction."""
        self.executions += access.executions
        self.bytes += access.bytes
        self.used += access.used
        self.ideal += access.ideal
        self.labels.update(access.labels)

    @property
    def ratio(self) -> float | None:
        """Coalescing or conflict ratio, used over ideal; ``None`` without measurements."""
        return self.used / self.ideal if self.ideal else None

    def document(self) -> dict[str, Any]:
        """Give the sums for a JSON report."""
        return {
            "executions": self.executions,
            "bytes": self.bytes,
            "used": self.used,
            "ideal": self.ideal,
            "labels": dict(self.labels),
        }
