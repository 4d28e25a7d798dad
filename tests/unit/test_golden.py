"""The recordings of the examples replay to the profiles that are committed beside them."""

from __future__ import annotations

import hashlib

import pytest

import golden
from cuvein.profile import encode, violations

pytestmark = pytest.mark.skipif(
    not golden.names(), reason="nothing recorded yet: run tests/golden/record.py on a machine with a GPU"
)


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("name", golden.names())
def test_replay_gives_the_committed_profiles(name: str, workers: int) -> None:
    found = golden.replayed(golden.trace_file(name), workers)
    # What the format has gained since they were committed is not in the files.
    assert [encode(profile) for profile in found] == [encode(profile) for profile in golden.profiles(name)]


@pytest.mark.parametrize("name", golden.names())
def test_committed_profiles_hold_the_invariants(name: str) -> None:
    for profile in golden.profiles(name):
        assert profile.incomplete is None
        assert violations(profile) == []


def test_manifest_is_of_these_traces() -> None:
    entries = golden.manifest()["recordings"]
    files = {name: golden.trace_file(name).read_bytes() for name in golden.names()}
    assert {name: entry["trace_sha256"] for name, entry in entries.items()} == {
        name: hashlib.sha256(data).hexdigest() for name, data in files.items()
    }
    assert sum(map(len, files.values())) < 8 << 20


def test_recordings_name_no_private_paths() -> None:
    """Whatever the recording machine was, its folders are nobody's business."""
    for name in golden.names():
        for profile in golden.profiles(name):
            assert profile.process.executable.startswith("/tmp/cuvein/")
