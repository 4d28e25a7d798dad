"""Patterns: mechanical rules over PCDepGraph that point to what a kernel engineer can do next."""

from cuvein.patterns.finding import (
    Description,
    Detection,
    Effect,
    Finding,
    Kernel,
    Place,
    PlaceSpace,
    PlaceType,
    Severity,
    Shares,
    SourceLine,
)
from cuvein.patterns.pattern import Pattern
from cuvein.patterns.registry import PATTERNS, pattern_named
from cuvein.patterns.thresholds import Thresholds

__all__ = [
    "PATTERNS",
    "Description",
    "Detection",
    "Effect",
    "Finding",
    "Kernel",
    "Pattern",
    "Place",
    "PlaceSpace",
    "PlaceType",
    "Severity",
    "Shares",
    "SourceLine",
    "Thresholds",
    "pattern_named",
]
