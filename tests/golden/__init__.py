"""Recordings of the examples and the profiles they must replay to.

``traces/NAME.cvt`` is what ``cuvein run --trace`` recorded on a GPU, ``profiles/NAME.jsonl`` holds a launch
profile a line, in launch order, and ``manifest.json`` says when, where and from which commit. ``record.py``
writes them all.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuvein.native import replay
from cuvein.profile import decode, encode

if TYPE_CHECKING:
    from cuvein.profile import LaunchProfile

__all__ = [
    "FOLDER",
    "MANIFEST",
    "manifest",
    "names",
    "profile_file",
    "profiles",
    "replayed",
    "trace_file",
    "write_profiles",
]

FOLDER = Path(__file__).parent
MANIFEST = "manifest.json"


def manifest(folder: Path = FOLDER) -> dict[str, Any]:
    """Read the manifest; empty when nothing was recorded yet."""
    path = folder / MANIFEST
    return json.loads(path.read_text()) if path.exists() else {}


def names(folder: Path = FOLDER) -> list[str]:
    """Names of the recordings."""
    return sorted(manifest(folder).get("recordings", {}))


def trace_file(name: str, folder: Path = FOLDER) -> Path:
    """Where the trace of a recording is."""
    return folder / "traces" / f"{name}.cvt"


def profile_file(name: str, folder: Path = FOLDER) -> Path:
    """Where the profiles of a recording are."""
    return folder / "profiles" / f"{name}.jsonl"


def profiles(name: str, folder: Path = FOLDER) -> list[LaunchProfile]:
    """Read the profiles of a recording."""
    path = profile_file(name, folder)
    return [decode(line, str(path)) for line in path.read_bytes().splitlines()]


def replayed(trace: Path, workers: int) -> list[LaunchProfile]:
    """Replay a trace; the profiles in launch order."""
    documents: list[bytes] = []
    replay(trace, documents.append, workers=workers)
    found = [decode(document, str(trace)) for document in documents]
    return sorted(found, key=lambda profile: profile.launch.sequence)


def write_profiles(name: str, found: list[LaunchProfile], folder: Path) -> None:
    """Write the profiles of a recording, a line each."""
    path = profile_file(name, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(encode(profile) for profile in found))
