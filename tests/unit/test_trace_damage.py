"""Traces that are cut off, damaged, foreign, from the future, or that could not be written."""

from __future__ import annotations

import random
import resource
import signal
import struct
import subprocess
import sys
import textwrap
import zlib
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest

from cuvein.native import Chunk, ChunkKind, TraceReader
from cuvein.trace import (
    Batch,
    DamagedError,
    ForeignError,
    InvalidError,
    NativeError,
    NewerError,
    Recorder,
    SystemRefusedError,
    TraceWriter,
    info,
    make_launch,
    read,
    write,
)
from cuvein.vocabulary import RecordKind

if TYPE_CHECKING:
    from pathlib import Path

BASE = 0x7F1234560000
FILE_HEADER = 16
CHUNK_HEADER = struct.Struct("<IHHIIIIII")


def recorder(count: int = 200) -> Recorder:
    chance = random.Random(5)
    made = Recorder()
    for step in range(count):
        made.affine(0x10, BASE + 128 * step, stride=4, size=4, block=step // 8, warp=step % 8)
        made.access(0x20, [BASE + 4 * chance.randrange(1 << 20) for _ in range(32)], 4, warp=step % 8)
        made.access(0x30, {1: 4, 9: 100}, {1: 4, 9: 3}, warp=step % 8)
        made.barrier(warp=step % 8)
    made.launch_end()
    return made


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / "whole"
    write(path, [(make_launch(), recorder())], modules=[b"cubin" * 100])
    return path


def chunks(path: Path) -> tuple[list[Chunk], NativeError | None]:
    found = []
    try:
        with TraceReader(path) as reader:
            found.extend(reader)
    except NativeError as problem:
        return found, problem
    return found, None


def replaced(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_trace_cut_anywhere_gives_every_whole_chunk(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    everything, problem = chunks(whole)
    assert problem is None
    cut = tmp_path / "cut"
    borders = {chunk.offset + step for chunk in everything for step in (-1, 0, 1, 31, 32, 33)}
    lengths = {*range(1, 120), *borders, *random.Random(8).sample(range(1, len(content)), 150)}
    for length in sorted(length for length in lengths if length < len(content)):
        found, problem = chunks(replaced(cut, content[:length]))
        assert isinstance(problem, DamagedError)
        assert found == [chunk for chunk in everything if chunk.offset + chunk.stored_bytes <= length]
        at_the_end = length < FILE_HEADER or length in {chunk.offset for chunk in everything}
        assert f"byte {length}" in str(problem) if at_the_end else "is cut off" in str(problem)


def test_any_flipped_bit_is_noticed_and_what_stands_before_it_is_read(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    everything, _ = chunks(whole)
    flipped = tmp_path / "flipped"
    chance = random.Random(6)
    for at in {*range(80), *(chance.randrange(len(content)) for _ in range(1500))}:
        changed = bytearray(content)
        changed[at] ^= 1 << chance.randrange(8)
        found, problem = chunks(replaced(flipped, bytes(changed)))
        assert problem is not None
        if at < 8:
            assert isinstance(problem, ForeignError)
        else:
            assert isinstance(problem, DamagedError)
            assert "damaged at byte" in str(problem) or "is cut off" in str(problem)
        assert found == [chunk for chunk in everything if chunk.offset + chunk.stored_bytes <= at]


def test_each_kind_of_trouble_has_its_own_sentence(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    future = content[:8] + struct.pack("<I", 9)
    future += struct.pack("<I", zlib.crc32(future))
    cases: list[tuple[bytes, type[NativeError], str]] = [
        (b"", ForeignError, "is empty; it is not a cuvein trace"),
        (b"PK\x03\x04 something else entirely", ForeignError, "it does not begin like one"),
        (b"x", ForeignError, "it does not begin like one"),
        (future, NewerError, "is of version 9 of the trace format .* reads up to version 1; use a newer"),
        (content[:12], DamagedError, "within its header"),
        (content[:40], DamagedError, "within the chunk header at byte 16"),
        (content[:60], DamagedError, "is cut off: the process chunk at byte 16 needs"),
        (content[:16], DamagedError, "ends at byte 16 without an end mark"),
        (content[:16] + bytes(32), DamagedError, "damaged at byte 16: no chunk begins there"),
        (content + b"\0", DamagedError, "bytes follow the end mark"),
    ]
    sentences = set()
    for data, kind, sentence in cases:
        _, problem = chunks(replaced(tmp_path / "t", data))
        assert type(problem) is kind
        with pytest.raises(kind, match=sentence):
            raise problem
        sentences.add(str(problem))
    assert len(sentences) >= len(cases) - 1


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(SystemRefusedError, match="nothere: No such file"):
        list(read(tmp_path / "nothere"))
    with pytest.raises(SystemRefusedError, match="is a directory"):
        list(read(tmp_path))
    with pytest.raises(SystemRefusedError, match="not a regular file"):
        list(read("/dev/zero"))


def test_chunks_that_were_cut_out_or_swapped_are_noticed(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    first, second, third = chunks(whole)[0][:3]
    without = content[: second.offset] + content[third.offset :]
    found, problem = chunks(replaced(tmp_path / "t", without))
    assert found == [first]
    assert "chunk 1 should be there and it is chunk 2" in str(problem)


def with_chunk(kind: int, payload: bytes, *, content: int, decoded: int, compression: int = 0) -> bytes:
    """A trace with one chunk whose checksums are right, whatever it holds."""
    head = b"\x89CUVEIN\n" + struct.pack("<I", 1)
    head += struct.pack("<I", zlib.crc32(head))
    chunk = CHUNK_HEADER.pack(
        0x4B4E4843, kind, compression, len(payload), content, decoded, 0, zlib.crc32(payload), 0
    )[:-4]
    return head + chunk + struct.pack("<I", zlib.crc32(chunk)) + payload


def records_payload(tokens: bytes, lanes: bytes) -> bytes:
    return struct.pack("<4I", len(tokens), len(tokens), len(lanes), len(lanes)) + tokens + lanes


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (with_chunk(1, b"{}", content=1 << 31, decoded=1 << 31), "are impossible"),
        (with_chunk(1, b"{}", content=3, decoded=3), "are impossible"),
        (with_chunk(1, b"{}", content=2, decoded=1), "are impossible"),
        (with_chunk(2, b"xx", content=1 << 29, decoded=1 << 29, compression=1), "are impossible"),
        (with_chunk(2, b"xx", content=100, decoded=100, compression=1), "does not inflate"),
        (with_chunk(2, zlib.compress(b"x" * 99), content=98, decoded=98, compression=1), "does not inflate"),
        (with_chunk(4, b"short", content=5, decoded=48), "is too short"),
        (with_chunk(4, records_payload(b"\0", b""), content=17, decoded=1 << 30), "are impossible"),
        (with_chunk(4, records_payload(b"\0", b""), content=17, decoded=1 << 20), "has impossible lengths"),
        (with_chunk(4, records_payload(b"\0", b""), content=17, decoded=48), "makes no sense"),
        (with_chunk(4, records_payload(b"", b""), content=16, decoded=48), "has impossible lengths"),
        (with_chunk(4, struct.pack("<4I", 9, 5, 0, 0), content=16, decoded=48), "has impossible lengths"),
    ],
)
def test_hostile_lengths_are_refused_before_anything_is_taken_at_its_word(
    tmp_path: Path, data: bytes, sentence: str
) -> None:
    found, problem = chunks(replaced(tmp_path / "t", data))
    assert found == []
    assert isinstance(problem, DamagedError)
    assert sentence in str(problem)


def test_a_chunk_of_an_unknown_kind_asks_for_a_newer_cuvein(tmp_path: Path) -> None:
    _, problem = chunks(replaced(tmp_path / "t", with_chunk(77, b"", content=0, decoded=0)))
    assert isinstance(problem, NewerError)


def test_mangled_records_never_crash_and_what_is_read_is_well_formed(whole: Path, tmp_path: Path) -> None:
    """Packed records with right checksums and wrong content: the decoder has to look after itself."""
    records = next(chunk for chunk in chunks(whole)[0] if chunk.kind is ChunkKind.RECORDS)
    begin = records.offset + CHUNK_HEADER.size
    stored = whole.read_bytes()[begin : records.offset + records.stored_bytes]
    token_bytes, tokens_stored, lane_bytes, lanes_stored = struct.unpack_from("<4I", stored)
    tokens = stored[16 : 16 + tokens_stored]
    lanes = stored[16 + tokens_stored :]
    tokens = zlib.decompress(tokens) if tokens_stored < token_bytes else tokens
    lanes = zlib.decompress(lanes) if lanes_stored < lane_bytes else lanes
    again = records_payload(tokens, lanes)
    path = tmp_path / "t"
    found, problem = chunks(
        replaced(path, with_chunk(4, again, content=len(again), decoded=len(records.data)))
    )
    assert [chunk.data for chunk in found] == [records.data]

    chance = random.Random(7)
    survived = 0
    for _ in range(600):
        changed_tokens, changed_lanes = bytearray(tokens), bytearray(lanes)
        for _ in range(chance.choice([1, 1, 2, 20])):
            stream = chance.choice([changed_tokens, changed_tokens, changed_lanes])
            at = chance.randrange(len(stream))
            action = chance.randrange(3)
            if action == 0:
                stream[at] = chance.randrange(256)
            elif action == 1:
                del stream[at : at + chance.randrange(1, 9)]
            else:
                stream[at:at] = chance.randbytes(chance.randrange(1, 9))
        payload = records_payload(bytes(changed_tokens), bytes(changed_lanes))
        found, problem = chunks(
            replaced(path, with_chunk(4, payload, content=len(payload), decoded=len(records.data)))
        )
        assert isinstance(problem, DamagedError)
        survived += len(found)
        for chunk in found:
            assert len(chunk.data) == len(records.data)
            batch = Batch(chunk.data)
            assert np.isin(batch.headers["kind"], list(RecordKind)).all()
    assert survived < 600


def test_a_damaged_trace_is_summed_up_as_far_as_it_is_whole(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    end = chunks(whole)[0][-2]
    assert end.kind is ChunkKind.LAUNCH_END
    summary = info(replaced(tmp_path / "t", content[: end.offset + 5]))
    assert summary.records == recorder().count
    assert not summary.launches[1].ended
    assert summary.problem is not None
    assert f"byte {end.offset}" in summary.problem
    assert info(whole).problem is None


def test_a_document_that_is_not_of_the_format_is_damage(tmp_path: Path) -> None:
    data = with_chunk(1, b'{"id": 3}', content=9, decoded=9)
    with pytest.raises(DamagedError, match="damaged at byte 16: the document there"):
        list(read(replaced(tmp_path / "t", data)))


def test_a_killed_program_leaves_a_trace_that_reads_up_to_the_last_whole_chunk(tmp_path: Path) -> None:
    path = tmp_path / "t"
    script = f"""
        import os, signal
        from cuvein.trace import Recorder, TraceWriter, make_launch, make_process
        import msgspec
        writer = TraceWriter({str(path)!r}, msgspec.json.encode(make_process()))
        writer.begin(msgspec.json.encode(make_launch()))
        recorder = Recorder()
        for step in range(100):
            recorder.affine(16, 128 * step, stride=4, size=4)
        writer.records(recorder.data)
        writer.flush()
        writer.records(recorder.data)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    status = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False).returncode
    assert status == -signal.SIGKILL
    summary = info(path)
    assert summary.records == 100
    assert summary.problem is not None
    assert "without an end mark" in summary.problem


def launch_json(sequence: int = 1) -> bytes:
    return msgspec.json.encode(make_launch(sequence))


def test_where_a_trace_cannot_be_made_the_reason_is_given(tmp_path: Path) -> None:
    with pytest.raises(SystemRefusedError, match="no/such/folder/t: No such file or directory"):
        TraceWriter(tmp_path / "no/such/folder/t", "{}")
    with pytest.raises(SystemRefusedError, match="Is a directory"):
        TraceWriter(tmp_path, "{}")
    with pytest.raises(SystemRefusedError, match="/dev/full: No space left on device"):
        TraceWriter("/dev/full", "{}")
    with pytest.raises(InvalidError, match="process document is not JSON"):
        TraceWriter(tmp_path / "t", "{")


def fill(writer: TraceWriter, records: bytes) -> None:
    for _ in range(100):
        writer.records(records)
        writer.flush()


def test_a_full_disk_stops_the_writer_and_keeps_every_whole_chunk(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lanes = [[random.Random(i).randrange(1 << 40) for _ in range(32)] for i in range(1000)]
    filling = Recorder()
    for addresses in lanes:
        filling.access(0x10, addresses, 4)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = TraceWriter(path, "{}")
    writer.begin(launch_json())
    # Beyond this size the system refuses to write, as a full disk does, and sends a signal that ends a
    # program. Python ignores it; others do not.
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
    try:
        with pytest.raises(SystemRefusedError, match=r"cannot write the trace .*File too large") as first:
            fill(writer, filling.data)
        for call in (
            lambda: writer.records(filling.data),
            lambda: writer.begin(launch_json(2)),
            lambda: writer.module(b"cubin"),
            lambda: writer.end(1),
            writer.close,
        ):
            with pytest.raises(SystemRefusedError) as later:
                call()
            assert str(later.value) == str(first.value)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    found, problem = chunks(path)
    assert [chunk.kind for chunk in found[:2]] == [ChunkKind.PROCESS, ChunkKind.LAUNCH_BEGIN]
    assert len(found) > 2
    assert all(chunk.data == filling.data for chunk in found[2:])
    assert f"it ends at byte {path.stat().st_size}" in str(first.value)
    assert "without an end mark" in str(problem)


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ("[", "launch document is not JSON"),
        ("[]", "is not a JSON object"),
        ("{}", 'has no "sequence"'),
        ('{"sequence": 0}', 'a bad number in "sequence"'),
        ('{"sequence": -1}', 'a bad number in "sequence"'),
        ('{"sequence": 4294967296}', 'a bad number in "sequence"'),
        ('{"sequence": 1, "grid": [1, 2]}', 'three numbers in "grid"'),
        ('{"sequence": 1, "grid": [1, 0, 1]}', 'a bad number in "grid"'),
        ('{"sequence": 1, "grid": [1, 1, 1], "block": "x"}', 'three numbers in "block"'),
        ('{"sequence": 1, "grid": [1, 1, 1], "block": [1, 1, 1]}', 'has no "allocations"'),
    ],
)
def test_a_launch_that_makes_no_sense_is_refused_and_the_writer_goes_on(
    tmp_path: Path, document: str, sentence: str
) -> None:
    path = tmp_path / "t"
    with TraceWriter(path, "{}") as writer:
        with pytest.raises(InvalidError, match=sentence):
            writer.begin(document)
        writer.begin(launch_json())
        with pytest.raises(InvalidError, match="launch 1 was begun already"):
            writer.begin(launch_json())
        with pytest.raises(InvalidError, match="launch 2 is not open"):
            writer.end(2)
        writer.end(1)
    assert [chunk.kind for chunk in chunks(path)[0]] == [
        ChunkKind.PROCESS,
        ChunkKind.LAUNCH_BEGIN,
        ChunkKind.LAUNCH_END,
        ChunkKind.END,
    ]


def test_a_closed_writer_says_so(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "t", "{}")
    writer.close()
    writer.close()
    with pytest.raises(InvalidError, match="TraceWriter is closed"):
        writer.flush()
