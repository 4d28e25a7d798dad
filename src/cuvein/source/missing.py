"""The answer of every look-up here that can come up empty: what is missing, why, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Missing"]


@dataclass(frozen=True)
class Missing:
    """Something a report would like to show and cannot.

    Returned, not raised: a profile without its sources is still a profile, and the report says so.

    Parameters
    ----------
    why
        One sentence without a full stop: what is missing and for which reason.
    remedy
        What the user can do about it, or ``None``.
    """

    why: str
    remedy: str | None = None

    def __str__(self) -> str:
        return f"{self.why}; {self.remedy}" if self.remedy else self.why
