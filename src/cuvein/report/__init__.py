"""Reports: launch profiles in, something to read out."""

from cuvein.report.protocol import Report

__all__ = ["Report"]
