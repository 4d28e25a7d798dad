"""Measured time beside structural waste: what costs no time is ranked below what does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cuvein.findings.names import FORMS
from cuvein.findings.ranking import rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cuvein.findings.analysis import Report
    from cuvein.patterns import Kernel
    from cuvein.profile.model import Dimensions

__all__ = ["KernelTime", "Timing", "apply"]

# The stalls that wait for, or are throttled by, each memory space; Nsight Compute's names.
_STALLS = {
    "global": ("long_scoreboard", "lg_throttle"),
    "local": ("long_scoreboard", "lg_throttle"),
    "shared": ("short_scoreboard", "mio_throttle"),
    "distributed_shared": ("short_scoreboard", "mio_throttle", "long_scoreboard"),
    "barrier": ("barrier",),
}


@dataclass
class KernelTime:
    """What was measured of one kernel and launch shape.

    Attributes
    ----------
    name
        The kernel as the report writes it.
    grid, block
        Launch shape, where the report has it.
    launches
        Launches measured.
    cycles
        GPC cycles elapsed, all launches together; 0 if not in the report.
    nanoseconds
        Duration, all launches together; 0 if not in the report.
    stalls
        Share of each stall reason in the kernel's stalls, 0 to 1; empty if not in the report.
    counts
        Further counters by their metric's name, all launches together.
    """

    name: str
    grid: Dimensions | None = None
    block: Dimensions | None = None
    launches: int = 0
    cycles: float = 0.0
    nanoseconds: float = 0.0
    stalls: dict[str, float] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)


@dataclass
class Timing:
    """The kernels of a report; ``total`` is the sum of what ``of`` returns over all of them."""

    kernels: list[KernelTime]

    def __post_init__(self) -> None:
        # Time where every kernel has it, else cycles: the two are not to be mixed.
        self.by_time = all(kernel.nanoseconds for kernel in self.kernels)
        self.total = sum(self.of(kernel) for kernel in self.kernels)

    def of(self, kernel: KernelTime) -> float:
        """Return the time of a kernel in the unit in which all are compared."""
        return kernel.nanoseconds if self.by_time else kernel.cycles

    def find(self, kernel: Kernel) -> list[KernelTime]:
        """Return the measurements of a kernel: of its launch shape if there are any, else of any shape."""
        for form in FORMS:
            name = form(kernel.name)
            found = [each for each in self.kernels if form(each.name) == name]
            # A loose form that fits kernels of different names says nothing.
            if found and len({FORMS[1](each.name) for each in found}) == 1:
                same = [each for each in found if (each.grid, each.block) == (kernel.grid, kernel.block)]
                return same or found
        return [each for each in self.kernels if each.name == kernel.mangled]


def apply(report: Report, timing: Timing) -> list[str]:
    """Set the time and stall share of every finding and rank anew.

    Returns
    -------
    list of str
        Names of the kernels with findings for which the timing has nothing.
    """
    unknown: dict[str, None] = {}
    known: dict[Kernel, Sequence[KernelTime]] = {}
    for finding in report.findings:
        kernel = finding.kernel
        if kernel not in known:
            known[kernel] = timing.find(kernel)
        measured = known[kernel]
        if not measured or not timing.total:
            finding.time_share = finding.stall_share = None
            unknown.setdefault(kernel.name)
            continue
        finding.time_share = sum(timing.of(each) for each in measured) / timing.total
        finding.stall_share = _stall_share(measured, _STALLS[finding.places[0].space])
    report.findings = rank(report.findings, report.totals)
    return list(unknown)


def _stall_share(measured: Iterable[KernelTime], reasons: Iterable[str]) -> float | None:
    shares = [(each.launches or 1, each.stalls) for each in measured if each.stalls]
    if not shares:
        return None
    weight = sum(launches for launches, _ in shares)
    return (
        sum(launches * stalls.get(reason, 0.0) for launches, stalls in shares for reason in reasons) / weight
    )
