"""Whatever is written to a trace comes back, and cheaply."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuvein.native import ChunkKind, TraceReader
from cuvein.trace import (
    HEADER,
    Batch,
    InvalidError,
    LaunchBegin,
    LaunchEnd,
    Module,
    Recorder,
    Records,
    TraceWriter,
    info,
    make_launch,
    make_process,
    read,
    write,
)
from cuvein.vocabulary import AccessType, AddressForm, Instruction, RecordFlag, RecordKind, Space

if TYPE_CHECKING:
    from pathlib import Path

BASE = 0x7F1234560000


def round_trip(path: Path, recorder: Recorder) -> bytes:
    write(path, [(make_launch(recorder.launch), recorder)])
    return b"".join(part.batch.data for part in read(path) if isinstance(part, Records))


def one_of_each() -> Recorder:
    recorder = Recorder()
    recorder.affine(0x10, BASE, stride=4, size=4, block=3, warp=1)
    recorder.access(0x20, {3: BASE + 12, 7: BASE + 1000, 30: BASE}, 2, type=AccessType.WRITE, block=1 << 40)
    recorder.access(0x30, {0: BASE, 31: BASE + (1 << 40), 5: 16}, 8, type=AccessType.ATOMIC, warp=31)
    recorder.access(
        0x40,
        {lane: BASE + 16 * lane * lane for lane in range(9)},
        {lane: lane + 1 for lane in range(9)},
        flags=RecordFlag.ASYNC,
    )
    recorder.access(0x41, [16 * lane for lane in range(32)], 16, Space.SHARED, AccessType.WRITE)
    recorder.access(0x50, [64, 64, 64], 4, Space.LOCAL)
    recorder.access(0x60, [0, 4, 12], 4, Space.DISTRIBUTED_SHARED, flags=RecordFlag.MATRIX)
    recorder.access(0x70, {8: 128}, 16, Space.SHARED, flags=RecordFlag.MATRIX)
    recorder.barrier(0x80, block=2, warp=3, index=1, expected=64, arrive_only=True)
    recorder.warp_sync(0x90, mask=0xFFFF)
    recorder.thread_exit(active=0xFF)
    recorder.async_commit(0xA0)
    recorder.async_wait(0xB0, pending=2)
    recorder.cluster_arrive(0xC0)
    recorder.cluster_wait(0xD0)
    recorder.device_malloc(0xE0, BASE, 1 << 20, lane=4)
    recorder.device_free(0xF0, BASE, lane=4)
    recorder.not_analysed(-0x10, Instruction.TMA_LOAD)
    recorder.mbarrier(0x100, 512, 3)
    recorder.launch_end(block=9, warp=2)
    return recorder


def test_every_kind_and_form_of_record_comes_back(tmp_path: Path) -> None:
    recorder = one_of_each()
    kinds = {record.kind for record in Batch(recorder.data)}
    assert kinds == set(RecordKind) - {RecordKind.PADDING}
    assert round_trip(tmp_path / "t", recorder) == recorder.data


ADDRESS = st.one_of(
    st.integers(0, 1 << 16), st.integers(BASE, BASE + (1 << 34)), st.integers(0, (1 << 64) - 1)
)
BLOCK = st.one_of(st.integers(0, 5), st.integers(0, 1 << 26), st.integers(0, (1 << 64) - 1))
WARP = st.one_of(st.integers(0, 31), st.integers(0, 255))


@st.composite
def accesses(draw: st.DrawFn) -> Recorder:
    recorder = Recorder(launch=draw(st.integers(1, (1 << 32) - 1)))
    for _ in range(draw(st.integers(1, 12))):
        lanes = draw(st.dictionaries(st.integers(0, 31), ADDRESS, min_size=1))
        size = draw(st.sampled_from([1, 2, 4, 8, 16]))
        sizes = {lane: draw(st.integers(1, 16)) for lane in lanes} if draw(st.integers(0, 3)) == 0 else size
        recorder.access(
            draw(st.integers(-(1 << 31), (1 << 31) - 1)),
            lanes,
            sizes,
            draw(st.sampled_from(Space)),
            draw(st.sampled_from(AccessType)),
            block=draw(BLOCK),
            warp=draw(WARP),
        )
        recorder.affine(
            16 * draw(st.integers(0, 3)),
            draw(ADDRESS),
            stride=draw(st.integers(-(1 << 63), (1 << 63) - 1)),
            size=size,
            block=draw(BLOCK),
            warp=draw(WARP),
            active=draw(st.integers(0, (1 << 32) - 1)),
        )
        recorder.barrier(block=draw(BLOCK), warp=draw(WARP), expected=draw(st.integers(0, 1024)))
    return recorder


@given(accesses())
@settings(max_examples=150, deadline=None)
def test_any_access_comes_back(tmp_path_factory: pytest.TempPathFactory, recorder: Recorder) -> None:
    assert round_trip(tmp_path_factory.getbasetemp() / "any", recorder) == recorder.data


def test_fields_that_mean_nothing_for_a_kind_come_back_as_zero(tmp_path: Path) -> None:
    noisy, clean = Recorder(), Recorder()
    noisy._append(RecordKind.THREAD_EXIT, pc=7, active=5, space=Space.LOCAL, size=4, address=9, value=3)
    clean.thread_exit(active=5)
    noisy._append(
        RecordKind.ACCESS,
        form=AddressForm.LANES_32,
        active=2,
        size=4,
        value=77,
        tail=b"\xff\xff\xff\xff" + bytes(4) + b"\x01" * 120,
    )
    clean._append(RecordKind.ACCESS, form=AddressForm.LANES_32, active=2, size=4, tail=bytes(128))
    assert round_trip(tmp_path / "t", noisy) == clean.data


def test_padding_leaves_no_trace(tmp_path: Path) -> None:
    recorder = Recorder()
    recorder.thread_exit()
    padded = bytes([5, 0]) + bytes(78) + recorder.data + bytes([1, 0]) + bytes(14)
    path = tmp_path / "t"
    write(path, [(make_launch(), padded)])
    assert b"".join(part.batch.data for part in read(path) if isinstance(part, Records)) == recorder.data


def test_overlapping_launches_keep_the_order_of_the_stream(tmp_path: Path) -> None:
    path = tmp_path / "t"
    stream = b""
    with TraceWriter(path, "{}") as writer:
        for sequence in (1, 2):
            writer.begin(encoded_launch(sequence))
        for step in range(100):
            recorder = Recorder(launch=1 + step % 2)
            recorder.affine(0x10, BASE + 128 * step, stride=4, size=4, warp=step % 3)
            stream += recorder.data
        writer.records(stream)
        writer.end(1)
        writer.end(2, "was cut short")
    data = TraceBytes(path)
    assert data.records == stream
    assert data.ends == [(1, None), (2, "was cut short")]


def test_modules_are_kept_once_by_their_content(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path, [], modules=[b"cubin one", b"cubin two" * 1000, b"cubin one", b""])
    modules = [part.cubin for part in read(path) if isinstance(part, Module)]
    assert modules == [b"cubin one", b"cubin two" * 1000, b""]


def test_launches_come_back_as_described(tmp_path: Path) -> None:
    path = tmp_path / "t"
    launch = make_launch(7, name="k", grid=(1 << 22, 3, 2), cluster=(2, 1, 1), allocations=[(BASE, 64)])
    write(path, [(launch, b"")])
    assert [part.launch for part in read(path) if isinstance(part, LaunchBegin)] == [launch]


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        (bytes(48), "length 0"),
        (b"\x03\x63" + bytes(46), "unknown kind"),
        (b"\x03\x01\x07\x00\x00\x00\x04" + bytes(41), "unknown address form"),
        (b"\x03\x01\x00\x00\x09\x00\x04" + bytes(41), "unknown memory space"),
        (b"\x03\x01\x00\x00\x00\x00\x03" + bytes(41), "not of 1, 2, 4, 8 or 16 bytes"),
        (b"\x03\x01\x01\x00\x00\x00\x04" + bytes(41), "wrong length"),
        (b"\x03\x05" + bytes(30), "in the middle of a record"),
        (b"\x03\x05" + bytes(46), "launch 0, which is not open"),
    ],
)
def test_malformed_records_are_refused_and_the_writer_goes_on(
    tmp_path: Path, records: bytes, sentence: str
) -> None:
    path = tmp_path / "t"
    good = Recorder()
    good.launch_end()
    with TraceWriter(path, "{}") as writer:
        writer.begin(encoded_launch(1))
        with pytest.raises(InvalidError, match=sentence):
            writer.records(good.data + records)
        writer.records(good.data)
        writer.end(1)
    assert TraceBytes(path).records == good.data


def encoded_launch(sequence: int) -> bytes:
    return msgspec.json.encode(make_launch(sequence))


class TraceBytes:
    """What a trace holds, without its documents being looked at."""

    def __init__(self, path: Path) -> None:
        self.records = b""
        self.ends: list[tuple[int, str | None]] = []
        with TraceReader(path) as reader:
            for chunk in reader:
                if chunk.kind is ChunkKind.RECORDS:
                    self.records += chunk.data
                elif chunk.kind is ChunkKind.LAUNCH_END:
                    end = msgspec.json.decode(chunk.data, type=LaunchEnd)
                    self.ends.append((end.sequence, end.incomplete))


def cost(path: Path, recorder: Recorder) -> float:
    """Bytes a record takes in the file."""
    assert round_trip(path, recorder) == recorder.data
    return info(path).stored_record_bytes / recorder.count


def test_affine_accesses_take_at_most_16_bytes_even_at_random_places(tmp_path: Path) -> None:
    chance = random.Random(1)
    recorder = Recorder()
    for _ in range(20000):
        recorder.affine(
            16 * chance.randrange(200),
            BASE + 4 * chance.randrange(1 << 33),
            stride=4,
            size=4,
            block=chance.randrange(1 << 24),
            warp=chance.randrange(32),
            active=chance.randrange(1, 1 << 32),
        )
    assert cost(tmp_path / "t", recorder) <= 16


def test_coalesced_accesses_take_little(tmp_path: Path) -> None:
    chance = random.Random(2)
    recorder = Recorder()
    warps = [(block, warp) for block in range(2000) for warp in range(8)]
    for start in range(0, len(warps), 1024):
        resident = warps[start : start + 1024]
        for pc, array in ((0x10, 0), (0x20, 1), (0x30, 2)):
            chance.shuffle(resident)
            for block, warp in resident:
                address = BASE + (array << 28) + (block * 8 + warp) * 128
                recorder.affine(pc, address, stride=4, size=4, block=block, warp=warp)
    assert cost(tmp_path / "t", recorder) < 4


@pytest.mark.parametrize("allocations", [1, 2])
def test_scattered_accesses_take_at_most_150_bytes(tmp_path: Path, allocations: int) -> None:
    chance = random.Random(3)
    recorder = Recorder()
    for _ in range(3000):
        recorder.access(
            0x10,
            [BASE + (chance.randrange(allocations) << 45) + 4 * chance.randrange(1 << 30) for _ in range(32)],
            4,
            block=chance.randrange(1 << 20),
            warp=chance.randrange(32),
        )
    assert cost(tmp_path / "t", recorder) <= 150


def many(count: int) -> bytes:
    """Coalesced accesses, in a pattern that does not shrink to nothing."""
    step = np.arange(count, dtype=np.uint64)
    headers = np.zeros(count, HEADER)
    headers["length"] = 3
    headers["kind"] = RecordKind.ACCESS
    headers["size"] = 4
    headers["active"] = 0xFFFFFFFF
    headers["launch"] = 1
    headers["value"] = 4
    headers["block"] = step * np.uint64(2654435761) >> np.uint64(7) & np.uint64(0xFFF)
    headers["warp"] = step % np.uint64(7)
    headers["pc"] = 16 * (step % np.uint64(11))
    headers["address"] = BASE + 128 * (step * np.uint64(40503) & np.uint64(0xFFFFF))
    return headers.tobytes()


def test_a_stream_of_many_chunks_keeps_its_order(tmp_path: Path) -> None:
    path = tmp_path / "t"
    records = many(2_000_000)
    size = 48 * 10_007
    with TraceWriter(path, msgspec.json.encode(make_process())) as writer:
        writer.begin(encoded_launch(1))
        for at in range(0, len(records), size):
            writer.records(records[at : at + size])
        writer.end(1)
    parts = [part.batch.data for part in read(path) if isinstance(part, Records)]
    assert len(parts) > 4
    assert b"".join(parts) == records


def test_a_forked_child_leaves_the_trace_alone(tmp_path: Path) -> None:
    path = tmp_path / "t"
    script = f"""
        import os, sys
        from pathlib import Path
        from cuvein.trace import InvalidError, TraceWriter
        writer = TraceWriter({str(path)!r}, Path({str(tmp_path / "process")!r}).read_bytes())
        writer.begin(Path({str(tmp_path / "launch")!r}).read_bytes())
        records = Path({str(tmp_path / "records")!r}).read_bytes()
        writer.records(records)
        child = os.fork()
        if child == 0:
            try:
                writer.records(records)
            except InvalidError as problem:
                print(problem, flush=True)
            del writer
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        writer.records(records)
        writer.end(1)
        writer.close()
    """
    records = many(800_000)
    (tmp_path / "process").write_bytes(msgspec.json.encode(make_process()))
    (tmp_path / "launch").write_bytes(encoded_launch(1))
    (tmp_path / "records").write_bytes(records)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        check=True,
        capture_output=True,
        timeout=120,
        text=True,
    )
    assert "written by the process that forked this one" in done.stdout
    summary = info(path)
    assert summary.problem is None
    assert summary.records == 1_600_000
