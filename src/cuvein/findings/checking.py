"""The verdict on a run: which findings count, which are known, whether it passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuvein.findings.baseline import Baseline

if TYPE_CHECKING:
    from cuvein.findings.analysis import Report
    from cuvein.findings.baseline import Known
    from cuvein.findings.rules import Bar, Ignore, Rules
    from cuvein.patterns import Finding

__all__ = ["Verdict", "check"]


@dataclass
class Verdict:
    """What a check says.

    Attributes
    ----------
    report
        What was analysed.
    bar
        What makes the check fail.
    failing
        New findings that reach the bar.
    below
        New findings that do not.
    known
        Findings in the baseline.
    ignored
        Findings the rules ignore, with the entry that says so.
    gone
        What the baseline has and the run has not any more.
    """

    report: Report
    bar: Bar
    failing: list[Finding]
    below: list[Finding]
    known: list[Finding]
    ignored: list[tuple[Finding, Ignore]]
    gone: list[Known]

    @property
    def passed(self) -> bool:
        """Whether no new finding reaches the bar."""
        return not self.failing


def check(report: Report, rules: Rules, baseline: Baseline | None = None) -> Verdict:
    """Judge a report by rules and a baseline."""
    baseline = baseline or Baseline()
    verdict = Verdict(report, rules.bar, [], [], [], [], baseline.gone(report.findings))
    for finding in report.findings:
        entry = rules.ignored(finding)
        if entry is not None:
            verdict.ignored.append((finding, entry))
        elif finding in baseline:
            verdict.known.append(finding)
        elif rules.bar.reached_by(finding):
            verdict.failing.append(finding)
        else:
            verdict.below.append(finding)
    return verdict
