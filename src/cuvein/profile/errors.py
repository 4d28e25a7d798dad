"""What can go wrong with a profile. The text of each error is one sentence for the user."""

from __future__ import annotations

__all__ = ["ProfileError", "ProfileReadError", "ProfileWriteError", "reason"]


class ProfileError(Exception):
    """Base of the errors of this package."""


class ProfileReadError(ProfileError):
    """A profile cannot be read: missing, damaged, foreign, or written by a later version."""


class ProfileWriteError(ProfileError):
    """A profile cannot be written."""


def reason(error: OSError) -> str:
    """Say why the system refused, without Python's error number."""
    return (error.strerror or str(error)).lower()
