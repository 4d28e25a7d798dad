"""Findings over many launches, and what is done with them: rank, check, compare.

>>> from cuvein.findings import analyse
>>> report = analyse("cuvein-softmax-1")  # doctest: +SKIP
>>> report.findings[0].summary  # doctest: +SKIP
"""

from cuvein.findings.analysis import Analysis, KernelSummary, Report, analyse
from cuvein.findings.ranking import rank

__all__ = ["Analysis", "KernelSummary", "Report", "analyse", "rank"]
