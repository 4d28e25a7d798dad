"""Which sums over a launch profile are which hardware counters, on compute capability 9.0."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuvein.profile import Histogram, LaunchProfile

__all__ = ["features"]


def _sum(histogram: Histogram) -> int:
    return sum(value * executions for value, executions in histogram)


def features(profile: LaunchProfile) -> dict[str, int]:
    """Sum executions, sectors and wavefronts over the nodes of each space, type and kind of copy."""
    sums: dict[str, int] = {}
    for node in profile.nodes:
        kind = f"{node.space}.{'async_' if node.asynchronous else ''}{node.type}"
        for name, value in (
            ("requests", node.executions),
            ("sectors", _sum(node.sectors)),
            ("wavefronts", _sum(node.wavefronts)),
        ):
            sums[f"{kind}.{name}"] = sums.get(f"{kind}.{name}", 0) + value
    return sums
