"""Launch profiles: their types, reading, writing, schema and what must hold in each of them."""

from cuvein.profile.errors import ProfileError, ProfileReadError, ProfileWriteError
from cuvein.profile.invariants import violations
from cuvein.profile.model import LaunchProfile, ProcessSummary
from cuvein.profile.reading import decode, find, read, read_all, read_process
from cuvein.profile.writing import encode, write, write_process

__all__ = [
    "LaunchProfile",
    "ProcessSummary",
    "ProfileError",
    "ProfileReadError",
    "ProfileWriteError",
    "decode",
    "encode",
    "find",
    "read",
    "read_all",
    "read_process",
    "violations",
    "write",
    "write_process",
]
