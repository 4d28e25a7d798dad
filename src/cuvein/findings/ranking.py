"""The order of findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.patterns import PATTERNS, Severity, Shares

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.graph import Totals
    from cuvein.patterns import Finding

__all__ = ["rank"]

# A rule that implies another stands after it in the list, and says more: a candidate for constant memory is
# always read by broadcast.
_NARROWNESS = {pattern.name: position for position, pattern in enumerate(PATTERNS)}


def rank(findings: Iterable[Finding], run: Totals) -> list[Finding]:
    """Return findings in the order in which to look at them, and set their score.

    First what matters to its kernel at all (a severity above ``info``), then by effect: what corrects the
    program, what removes work, what moves it to a nearer mechanism, what only informs. Within an effect by
    score: the largest share of the whole run's instructions, transactions or bytes that acting on the finding
    affects. With times from Nsight Compute (``time_share`` is set) the score is the share of the measured
    time instead: the kernel's share of the time, times the share of the kernel that is affected, times the
    share of its stalls that such work can cause where that is known. Findings in kernels without a measured
    time then come after those with one.

    Parameters
    ----------
    findings
        The findings; they are changed in place.
    run
        The work of all launches together.
    """
    ordered = list(findings)
    timed = any(finding.time_share is not None for finding in ordered)
    for finding in ordered:
        if finding.time_share is None:
            finding.score = Shares.of(finding.removal, run).largest
        else:
            stalls = 1.0 if finding.stall_share is None else finding.stall_share
            finding.score = finding.time_share * finding.shares.largest * stalls

    def key(finding: Finding) -> tuple[object, ...]:
        place = finding.places[0]
        return (
            finding.severity is Severity.INFO,
            -finding.effect,
            timed and finding.time_share is None,
            -finding.score,
            -finding.severity,
            -int(finding.evidence.get("unordered_bytes", 0)),
            finding.kernel.name,
            -_NARROWNESS.get(finding.pattern, 0),
            place.function,
            place.pc,
        )

    return sorted(ordered, key=key)
