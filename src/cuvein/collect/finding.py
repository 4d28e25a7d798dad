"""What a check of ``cuvein doctor`` found."""

from __future__ import annotations

import enum
from dataclasses import dataclass

__all__ = ["Finding", "Severity"]


class Severity(enum.Enum):
    """How bad it is; with a problem nothing can be profiled here."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """One fact: what was looked at, what was found, and what to do about it (empty when nothing)."""

    subject: str
    severity: Severity
    text: str
    remedy: str = ""
