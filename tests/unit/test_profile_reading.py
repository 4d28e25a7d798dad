"""Reading profiles: what is good comes back as it was, what is bad is told in one sentence."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
import pytest

from cuvein.profile import (
    ProfileReadError,
    decode,
    encode,
    find,
    read,
    read_all,
    read_process,
    write,
    write_process,
)
from reference.sample import PROFILE, SUMMARY

if TYPE_CHECKING:
    from pathlib import Path


def document(**changes: object) -> bytes:
    return msgspec.json.encode(msgspec.to_builtins(PROFILE) | changes)


def message(data: bytes) -> str:
    with pytest.raises(ProfileReadError) as caught:
        decode(data, "p.json")
    text = str(caught.value)
    assert text.startswith("p.json ")
    assert text.endswith(".")
    assert "\n" not in text
    return text


def test_a_written_profile_reads_back_equal(tmp_path: Path) -> None:
    write(PROFILE, tmp_path / "launch-000001.json")
    assert read(tmp_path / "launch-000001.json") == PROFILE
    assert read(str(tmp_path / "launch-000001.json")) == PROFILE


def test_addresses_use_all_64_bits() -> None:
    allocation = msgspec.structs.replace(PROFILE.launch.allocations[0], address=2**64 - 512)
    launch = msgspec.structs.replace(PROFILE.launch, allocations=[allocation])
    profile = msgspec.structs.replace(PROFILE, launch=launch)
    assert decode(encode(profile)) == profile


def test_every_truncation_is_reported_as_one() -> None:
    whole = encode(PROFILE).rstrip()
    for length in range(1, len(whole), 37):
        assert "cut off" in message(whole[:length])


def test_an_empty_file_is_called_empty() -> None:
    assert "is empty" in message(b"")
    assert "is empty" in message(b" \n")


@pytest.mark.parametrize("data", [b"\x7fELF\x02\x01", b"{]", b'{"format": tru', b"\xff\xfe\x00", b"{} {}"])
def test_what_is_not_json_is_told(data: bytes) -> None:
    message(data)


def test_invalid_utf8_in_a_string_is_told() -> None:
    message(encode(PROFILE).replace(b"H200", b"H\xff00"))


@pytest.mark.parametrize("data", [b"[]", b"1", b'"cuvein launch profile"', b"null"])
def test_json_that_is_no_object_is_foreign(data: bytes) -> None:
    assert "is not a cuvein launch profile" in message(data)


def test_nesting_without_end_is_no_crash() -> None:
    message(b"[" * 100_000)
    message(b'{"format":' * 100_000)


def test_another_format_is_named() -> None:
    assert "'trace'" in message(b'{"format": "trace", "version": 1}')
    assert "states no format" in message(b'{"traceEvents": []}')
    assert "cuvein process" in message(encode(SUMMARY))


def test_a_later_version_is_no_damage() -> None:
    text = message(document(version=2, invented=True))
    assert "version 2" in text
    assert "version 1" in text
    assert "update cuvein" in text


@pytest.mark.parametrize("version", [None, 0, -1, "1", True, 1.5])
def test_a_version_that_is_none_is_told(version: object) -> None:
    assert "no valid version" in message(document(version=version))


def test_unknown_fields_are_named_with_their_place() -> None:
    assert "`colour`" in message(document(colour="red"))
    nodes = msgspec.to_builtins(PROFILE.nodes)
    nodes[1]["colour"] = "red"
    text = message(document(nodes=nodes))
    assert "`colour`" in text
    assert "$.nodes[1]" in text


def test_missing_and_ill_typed_fields_are_named() -> None:
    whole = msgspec.to_builtins(PROFILE)
    del whole["coverage"]
    assert "`coverage`" in message(msgspec.json.encode(whole))
    edges = msgspec.to_builtins(PROFILE.edges)
    edges[0]["bytes"] = -1
    assert "$.edges[0].bytes" in message(document(edges=edges))
    edges[0] = edges[0] | {"bytes": 512, "label": "warp"}
    assert "'warp'" in message(document(edges=edges))


def test_references_into_nowhere_are_refused() -> None:
    edges = msgspec.to_builtins(PROFILE.edges)
    edges[2]["origin"] = 9
    assert "ends at node 9" in message(document(edges=edges))
    nodes = msgspec.to_builtins(PROFILE.nodes)
    nodes[0]["function"] = 4
    assert "function 4" in message(document(nodes=nodes))


def test_a_folder_is_read_with_its_process_folders_in_order(tmp_path: Path) -> None:
    for process, sequence in (
        ("process-9", 2),
        ("process-10", 1),
        ("process-9", 10),
        ("process-9", 1_000_000),
    ):
        folder = tmp_path / process
        folder.mkdir(exist_ok=True)
        launch = msgspec.structs.replace(PROFILE.launch, sequence=sequence)
        profile = msgspec.structs.replace(PROFILE, id=f"host-1-2-{sequence}", launch=launch)
        write(profile, folder / f"launch-{sequence:06}.json")
        write_process(SUMMARY, folder / "process.json")
    (tmp_path / "process-9" / "modules").mkdir()
    (tmp_path / "process-9" / "modules" / "ab.cubin").write_bytes(b"\x7fELF")
    (tmp_path / "process-9" / ".launch-000003.json.x.part").write_bytes(b"{")
    names = [str(file.relative_to(tmp_path)) for file in find(tmp_path)]
    assert names == [
        "process-9/launch-000002.json",
        "process-9/launch-000010.json",
        "process-9/launch-1000000.json",
        "process-10/launch-000001.json",
    ]
    assert [profile.launch.sequence for profile in read_all(tmp_path)] == [2, 10, 1_000_000, 1]
    assert [profile.launch.sequence for profile in read_all(tmp_path / "process-9")] == [2, 10, 1_000_000]


def test_a_copy_under_another_name_is_the_same_launch(tmp_path: Path) -> None:
    other = msgspec.structs.replace(PROFILE, id="host-1-2-2")
    for name, profile in (("1", PROFILE), ("1-copy", PROFILE), ("2", other)):
        write(profile, tmp_path / f"launch-{name}.json")
    assert [profile.id for profile in read_all(tmp_path)] == [PROFILE.id, other.id]
    files = [tmp_path / "launch-1-copy.json", tmp_path / "launch-1.json"]
    assert list(read_all(*files)) == [PROFILE]


def test_a_bad_profile_in_a_folder_is_named(tmp_path: Path) -> None:
    write(PROFILE, tmp_path / "launch-000001.json")
    (tmp_path / "launch-000002.json").write_bytes(b"{")
    with pytest.raises(ProfileReadError, match=r"launch-000002\.json ends in the middle"):
        list(read_all(tmp_path))


def test_a_folder_without_profiles_is_told(tmp_path: Path) -> None:
    write_process(SUMMARY, tmp_path / "process.json")
    with pytest.raises(ProfileReadError, match="holds no launch profiles"):
        find(tmp_path)


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    for call in (find, read, read_process):
        with pytest.raises(ProfileReadError, match="does not exist"):
            call(tmp_path / "absent.json")
    with pytest.raises(ProfileReadError, match="is a folder"):
        read(tmp_path)


def test_reading_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "launch-000001.json")
    with pytest.raises(ProfileReadError, match="not a regular file"):
        read(tmp_path / "launch-000001.json")
    with pytest.raises(ProfileReadError, match="holds no launch profiles"):
        find(tmp_path)


def test_the_summary_of_a_process_is_read_from_its_folder(tmp_path: Path) -> None:
    write_process(SUMMARY, tmp_path / "process.json")
    assert read_process(tmp_path) == read_process(tmp_path / "process.json") == SUMMARY
    write(PROFILE, tmp_path / "process.json")
    with pytest.raises(ProfileReadError, match="is not a cuvein process"):
        read_process(tmp_path)


def test_numbers_that_cannot_belong_together_are_refused() -> None:
    first, *others = msgspec.to_builtins(PROFILE)["nodes"]
    for changes, expected in (
        ({"bytes": 0}, "was never executed or accessed no bytes"),
        ({"executions": 0}, "was never executed or accessed no bytes"),
        ({"bytes": first["bytes"] + 1}, f"accessed {first['bytes'] + 1} bytes, its edges hold"),
    ):
        assert expected in message(document(nodes=[first | changes, *others]))


def test_what_a_document_brings_does_not_fill_the_sentence() -> None:
    for changes in ({"format": "x" * 10_000}, {"version": "x" * 10_000}, {"engine": "x" * 10_000}):
        assert len(message(document(**changes))) < 500
