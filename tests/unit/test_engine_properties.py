"""The host engine against the reference model on random record streams, whatever the number of workers."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from cuvein.native import Engine, InvalidError
from cuvein.profile import violations
from cuvein.vocabulary import AccessType, AddressForm, RecordKind, Space
from reference import engine
from reference.barriers import BlockClocks
from reference.bulk import accesses
from reference.drawn import streams
from reference.engine import profile_bytes
from reference.graph import Graph, differences, graph_of
from reference.model import analyse
from reference.records import encode, lanes_of
from reference.streams import Warp, launch

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference.generator import Stream

WORKERS = (1, 2, 7)
A = 0x7F00_0000_0000

settings.register_profile(
    "engine",
    deadline=None,
    max_examples=120,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


@settings(settings.get_profile("engine"))
@given(streams(), st.sampled_from([None, *AddressForm]), st.sampled_from([None, 1, 7]))
def test_the_engine_agrees_with_the_model(
    stream: Stream, form: AddressForm | None, chunk: int | None
) -> None:
    right = analyse(stream.launches, stream.records)
    by_workers = [
        engine.profiles(stream.launches, stream.records, workers, form, chunk, team=team)
        for workers, team in ((1, False), (2, True), (7, False), (7, True))
    ]
    for sequence, model in right.items():
        first = by_workers[0][sequence]
        told = differences(graph_of(first), model.graph)
        for record in stream.records if told else ():
            note(str(record))
        assert not told, "\n".join(told)
        distinct = {space.name.lower(): model.distinct_bytes[space] for space in Space}
        assert violations(first, distinct) == []
        for other in by_workers[1:]:
            for what in ("nodes", "edges", "barriers", "hidden_hazards"):
                assert getattr(other[sequence], what) == getattr(first, what)


@settings(settings.get_profile("engine"), max_examples=40)
@given(streams(), st.sampled_from([None, *AddressForm]), st.sampled_from(WORKERS))
def test_a_replayed_trace_gives_the_same_graphs(
    stream: Stream, form: AddressForm | None, workers: int
) -> None:
    straight = engine.profiles(stream.launches, stream.records, 1)
    with TemporaryDirectory() as folder:
        again = engine.replayed(stream.launches, stream.records, workers, form, Path(folder) / "trace")
    assert again.keys() == straight.keys()
    for sequence, profile in straight.items():
        for what in ("launch", "coverage", "nodes", "edges", "barriers", "hidden_hazards"):
            assert getattr(again[sequence], what) == getattr(profile, what)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: b"\0" + data[1:],
        lambda data: bytes([data[0] + 1]) + data[1:],
        lambda data: data[:1] + b"\xc8" + data[2:],
        lambda data: data[:2] + b"\x09" + data[3:],
        lambda data: data[:4] + b"\x09" + data[5:],
        lambda data: data[:6] + b"\x03" + data[7:],
        lambda data: data[:7] + b"\x20" + data[8:],
        lambda data: data[:8] + bytes(4) + data[12:],
        lambda data: data[:16] + bytes([1]) + data[17:],
        lambda data: data[:24] + bytes([9]) + data[25:],
    ],
    ids=["cut", "empty", "long", "kind", "form", "space", "size", "warp", "lanes", "block", "launch"],
)
def test_a_bad_record_is_refused_and_changes_nothing(workers: int, damage: Callable[[bytes], bytes]) -> None:
    good = encode([Warp().write(16, lambda lane: A + 4 * lane)])
    bad = damage(encode([Warp().read(32, lambda lane: A + 4 * lane)]))
    process, shape = engine.documents(launch())
    with Engine(process, workers=workers) as host:
        host.begin(shape)
        host.consume(good)
        with pytest.raises(InvalidError):
            host.consume(good + bad)
        host.consume(encode([Warp().read(48, lambda lane: A + 4 * lane)]))
        graph = graph_of(engine.decode(host.end(1)))
    assert graph.out(16) == {(None, "cold"): 128}
    assert graph.out(48) == {(16, "thread"): 128}
    assert {key[0] for key in graph.nodes} == {16, 48}


def test_what_is_wrong_with_a_bad_record_is_told() -> None:
    process, shape = engine.documents(launch())
    record = encode([Warp().read(0x7A0, {3: A})])
    with Engine(process, workers=1) as host:
        host.begin(shape)
        with pytest.raises(
            InvalidError, match="pc 0x7a0, block 0, warp 0, lanes 0x8, space 0, type 0, 3 bytes"
        ):
            host.consume(record[:6] + b"\x03" + record[7:])


def test_launches_may_end_while_others_go_on() -> None:
    process, first = engine.documents(launch(1))
    _, second = engine.documents(launch(2))
    with Engine(process, workers=2) as host:
        host.begin(first)
        host.consume(encode([Warp(launch=1).write(16, {0: A})]))
        host.begin(second)
        host.consume(encode([Warp(launch=2).write(16, {0: A}), Warp(launch=1).read(32, {0: A})]))
        one: Any = graph_of(engine.decode(host.end(1)))
        with pytest.raises(InvalidError):
            host.consume(encode([Warp(launch=1).read(32, {0: A})]))
        host.consume(encode([Warp(launch=2).read(48, {0: A})]))
        two = graph_of(engine.decode(host.end(2)))
        with pytest.raises(InvalidError):
            host.end(2)
        # A number may be used again once its launch has ended.
        host.begin(first)
        host.consume(encode([Warp(launch=1).read(64, {0: A}), Warp(launch=1).other(RecordKind.LAUNCH_END)]))
        again = graph_of(engine.decode(host.end(1)))
    assert one.out(32) == {(16, "thread"): 4}
    assert two.out(48) == {(16, "thread"): 4}
    assert again.out(64) == {(None, "cold"): 4}


def test_a_long_stream_gives_one_profile_for_any_number_of_workers() -> None:
    # Long enough for several batches: overlapping affine accesses of all sizes by many blocks, with barriers.
    random, count = np.random.default_rng(1), 120_000
    size = 1 << random.integers(0, 5, count).astype(np.uint64)
    made = accesses(
        count,
        pc=16 * random.integers(0, 30, count),
        size=size,
        type=random.integers(0, 3, count),
        space=random.integers(0, 2, count),
        warp=random.integers(0, 4, count),
        block=random.integers(0, 500, count),
        active=random.integers(1, 2**32, count) | 1 << random.integers(0, 32, count),
        address=size * random.integers(0, 40_000 // size),
        stride=size * random.integers(0, 40, count),
    )
    made["address"] += np.where(made["space"] == Space.GLOBAL, np.uint64(A), np.uint64(0))
    barriers = random.random(count) < 0.1
    made["kind"][barriers] = RecordKind.BLOCK_BARRIER
    for field in ("value", "address", "space", "type", "size"):
        made[field][barriers] = 0
    shape = launch(grid=(500, 1, 1), block=(128, 1, 1), allocations=[(A, 10_000)])
    one, two, seven = (profile_bytes(shape, [made.tobytes()], workers) for workers in WORKERS)
    assert violations(one) == []
    assert {edge.label for edge in one.edges} >= {
        "cold",
        "thread",
        "warp_same_inst",
        "warp_diff_inst",
        "block",
    }
    assert one == two == seven


def needed_barriers(stream: Stream, sequence: int) -> list[tuple[set[int], str]]:
    """List the PCs of the barriers between each two accesses that need order, by brute force.

    Each with words for what they order. Plain barriers only: the n-th completed is the n-th for every warp.
    """
    threads = stream.launches[sequence - 1].block
    clocks: dict[int, BlockClocks] = {}
    past: dict[tuple[Space, int, int], list[tuple[int, int, int, AccessType]]] = {}
    found = []
    for record in stream.records:
        if record.launch != sequence:
            continue
        block = clocks.setdefault(record.block, BlockClocks(threads[0] * threads[1] * threads[2]))
        if record.kind == RecordKind.BLOCK_BARRIER:
            block.block_barrier(record)
        elif record.kind == RecordKind.THREAD_EXIT and block.thread_exit(record):
            past = {byte: v for byte, v in past.items() if byte[0] == Space.GLOBAL or byte[1] != record.block}
        elif record.kind == RecordKind.DEVICE_MALLOC:
            new = range(record.address, record.address + record.value)
            past = {byte: v for byte, v in past.items() if byte[0] != Space.GLOBAL or byte[2] not in new}
        if record.kind != RecordKind.ACCESS or record.space == Space.LOCAL:
            continue
        now = len(block.completed)
        for lane in lanes_of(record.active):
            for address in range(record.starts[lane], record.starts[lane] + record.sizes[lane]):
                # Global memory as each block sees it: what blocks do to one another is no barrier's matter.
                touched = past.setdefault((record.space, record.block, address), [])
                for when, warp, other, kind in touched:
                    if when < now and (warp, other) != (record.warp, lane) and {kind, record.type} != {0}:
                        found.append((set(block.completed[when:now]), f"{kind} before {record}"))
                touched.append((now, record.warp, lane, record.type))
    return found


@settings(settings.get_profile("engine"))
@given(streams())
def test_whatever_needs_a_barrier_credits_one(stream: Stream) -> None:
    for sequence, profile in engine.profiles(stream.launches, stream.records, 2).items():
        graph = graph_of(profile)
        if any(site[1] == "block" and each.ordered_bytes is None for site, each in graph.barriers.items()):
            continue
        credited = {pc for (pc, _), barrier in graph.barriers.items() if barrier.ordered_bytes}
        for between, what in needed_barriers(stream, sequence):
            if _blocks_exchange(graph):
                break
            assert between & credited, f"{what}: of the barriers {between} only {credited} count"


def _blocks_exchange(graph: Graph) -> bool:
    """Say whether blocks hand data to each other, which no block barrier orders."""
    return any(
        label.name in {"CLUSTER", "GRID"}
        and origin is not None
        and (node[2], origin[2]) not in {(0, 0), (2, 2)}
        for node, origin, label in graph.edges
    )
