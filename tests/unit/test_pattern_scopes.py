"""Patterns of the grid, block and thread scope and the others: planted, near miss, case, threshold."""

from __future__ import annotations

import pytest

from cuvein.patterns import Severity, Thresholds
from unit.profiles.maker import Maker

BYTES = 16 * 32 * 4


def reused(label, share, *, space="global", rest="thread"):
    """Make one node whose reuse comes from ``label`` by ``share``."""
    maker = Maker()
    maker.node(space=space)
    part = int(BYTES * share)
    maker.edge(0, 0, label, part)
    if part < BYTES:
        maker.edge(0, 0, rest)
    return maker


# Grid- and block-dominant reuse


def test_reuse_across_blocks_is_grid_dominant():
    (finding,) = reused("grid", 0.9375).findings("grid-dominant-reuse")
    assert finding.scope == "grid"
    assert finding.evidence["reuse_ratio_grid"] == 0.9375
    assert finding.removal.bytes == BYTES * 15 // 16
    assert finding.severity is Severity.MEDIUM


def test_grid_ratio_at_the_threshold_is_not_above_it():
    maker = reused("grid", 0.75)
    assert maker.findings("grid-dominant-reuse") == []
    assert maker.findings("grid-dominant-reuse", Thresholds(dominance=0.75)) == []
    assert maker.findings("grid-dominant-reuse", Thresholds(dominance=0.7499))


def test_grid_reuse_of_every_object_is_judged_apart():
    maker = Maker()
    maker.node()
    maker.node()
    maker.edge(0, 0, "grid")
    maker.edge(1, 1, "thread")
    assert [[p.node for p in f.places] for f in maker.findings("grid-dominant-reuse")] == [[0]]
    assert [[p.node for p in f.places] for f in maker.findings("block-dominant-reuse")] == [[1]]


def test_first_touches_and_broadcast_lanes_do_not_dilute_the_ratio():
    maker = Maker()
    maker.node()
    maker.edge(0, 0, "grid", BYTES // 32)
    maker.edge(0, 0, "warp_same_inst", BYTES // 2)
    assert maker.findings("grid-dominant-reuse")


def test_slots_shared_by_far_blocks_are_grid_reuse():
    """Case 7: block b touches slot b modulo something: every later touch is from another block."""
    maker = Maker(grid=(22_000_000, 1, 1), block=(1, 1, 1))
    maker.node("atomic", executions=22_000_000, lanes=1)
    maker.cold(0, 4 * 2**22)
    maker.edge(0, 0, "grid")
    (finding,) = maker.findings("grid-dominant-reuse")
    assert finding.evidence["reuse_ratio_grid"] == 1
    assert finding.evidence["footprint_bytes"] == 2**24
    assert maker.findings("block-dominant-reuse") == []


@pytest.mark.parametrize(
    ("label", "word"), [("thread", "thread"), ("warp_diff_inst", "warp"), ("block", "block")]
)
def test_reuse_inside_a_block_names_the_widest_scope(label, word):
    (finding,) = reused(label, 1).findings("block-dominant-reuse")
    assert f"inside a {word}" in finding.summary
    assert finding.evidence["reuse_ratio_within_block"] == 1


def test_block_ratio_at_the_threshold_is_not_above_it():
    maker = reused("block", 0.75, rest="grid")
    assert maker.findings("block-dominant-reuse") == []
    assert maker.findings("block-dominant-reuse", Thresholds(dominance=0.75)) == []
    assert maker.findings("block-dominant-reuse", Thresholds(dominance=0.7499))


def test_shared_memory_is_not_promoted_to_shared_memory():
    assert reused("block", 1, space="shared").findings("block-dominant-reuse") == []


# Redundant reads and writes


def reload_loop(rounds, *, kept="write"):
    """Case 3: each thread does ``rounds`` times y[i] += g[r] on global memory."""
    maker = Maker()
    load = maker.node("read", executions=16 * rounds)
    store = maker.node("write", executions=16 * rounds)
    factor = maker.node("read", executions=16 * rounds, addresses=1, sectors=1)
    maker.cold(load, BYTES)
    if rounds > 1:
        maker.edge(load, store if kept == "write" else load, "thread")
    maker.edge(store, load, "thread")
    maker.edge(factor, factor, "warp_same_inst", rounds * BYTES * 31 // 32)
    maker.edge(factor, factor, "block", rounds * BYTES // 32 - 4 * rounds)
    return maker


@pytest.mark.parametrize("rounds", [2, 8, 1000])
def test_reload_in_a_loop_is_redundant_but_for_the_first(rounds):
    maker = reload_loop(rounds)
    (finding,) = maker.findings("redundant-read")
    assert finding.variant == "RAW"
    assert finding.evidence["redundant_share"] == pytest.approx((rounds - 1) / rounds)
    assert finding.evidence["redundant_share_of_reuse"] == 1
    assert finding.evidence["degree"] == "full"
    assert finding.removal.instructions == 16 * (rounds - 1)
    assert finding.removal.bytes == BYTES * (rounds - 1)
    assert finding.removal.sectors == 16 * 4 * (rounds - 1)
    assert [place.node for place in finding.places] == [0]


def test_a_single_round_reloads_nothing():
    assert reload_loop(1).findings("redundant-read") == []


def test_read_after_read_is_told_from_read_after_write():
    maker = Maker()
    first, again = maker.node(), maker.node()
    maker.edge(again, first, "thread")
    (finding,) = maker.findings("redundant-read")
    assert (finding.variant, finding.evidence["redundant_share"]) == ("RAR", 1)


def test_both_origins_add_up():
    maker = Maker()
    read, write, again = maker.node(), maker.node("write"), maker.node()
    maker.edge(again, read, "thread", BYTES // 2)
    maker.edge(again, write, "thread")
    (finding,) = maker.findings("redundant-read")
    assert (finding.variant, finding.evidence["redundant_share"]) == ("RAR+RAW", 1)


def test_another_lane_is_no_redundancy():
    maker = Maker()
    first, again = maker.node(), maker.node()
    maker.edge(again, first, "warp_diff_inst")
    assert maker.findings("redundant-read") == []


def test_a_read_after_the_threads_own_atomic_is_not_redundant():
    maker = Maker()
    atomic, read = maker.node("atomic"), maker.node()
    maker.edge(read, atomic, "thread")
    assert maker.findings("redundant-read") == []


@pytest.mark.parametrize(("threshold", "found"), [(0.5, False), (0.4999, True)])
def test_partial_redundancy_has_to_exceed_the_threshold(threshold, found):
    maker = Maker()
    first, again = maker.node(), maker.node()
    maker.edge(again, first, "thread", BYTES // 2)
    maker.edge(again, first, "block")
    findings = maker.findings("redundant-read", Thresholds(redundancy=threshold))
    assert [finding.evidence["degree"] for finding in findings] == ["partial"] * found


def test_a_full_redundancy_is_reported_at_any_threshold():
    assert reload_loop(2).findings("redundant-read", Thresholds(redundancy=1.0))


def test_local_memory_reload_speaks_of_spills():
    maker = Maker()
    store, load = maker.node("write", "local"), maker.node("read", "local")
    maker.edge(load, store, "thread")
    (finding,) = maker.findings("redundant-read")
    assert "array indexed at run time" in finding.caveat


def test_store_overwritten_unread_is_a_dead_store():
    maker = Maker()
    dead, final = maker.node("write"), maker.node("write")
    maker.edge(final, dead, "thread")
    (finding,) = maker.findings("redundant-write")
    assert [place.node for place in finding.places] == [dead]
    assert finding.variant == "WAW"
    assert (finding.evidence["degree"], finding.evidence["redundant_share"]) == ("full", 1)
    assert finding.removal.instructions == 16


def test_store_in_a_loop_is_redundant_but_for_the_last():
    maker = Maker()
    maker.node("write", executions=16 * 8)
    maker.cold(0, BYTES)
    maker.edge(0, 0, "thread")
    (finding,) = maker.findings("redundant-write")
    assert finding.evidence["redundant_share"] == 0.875
    assert finding.removal.instructions == 16 * 7


def test_store_that_is_read_in_between_is_needed():
    maker = Maker()
    store, load, again = maker.node("write"), maker.node(), maker.node("write")
    maker.edge(load, store, "thread")
    maker.edge(again, load, "thread")
    assert maker.findings("redundant-write") == []


def test_store_overwritten_by_another_thread_is_not_called_redundant():
    maker = Maker()
    first, second = maker.node("write"), maker.node("write")
    maker.edge(second, first, "block")
    assert maker.findings("redundant-write") == []


@pytest.mark.parametrize(("threshold", "found"), [(0.5, False), (0.4999, True)])
def test_partly_overwritten_store_has_to_exceed_the_threshold(threshold, found):
    maker = Maker()
    store, load, again = maker.node("write"), maker.node(executions=8), maker.node("write", executions=8)
    maker.edge(load, store, "thread")
    maker.edge(again, store, "thread")
    findings = maker.findings("redundant-write", Thresholds(redundancy=threshold))
    assert [finding.evidence["degree"] for finding in findings] == ["partial"] * found


# Shared-memory abuse


def test_slot_written_and_read_by_its_own_lane_is_abuse():
    """Case 9: each lane writes shared slot t and reads slot t back."""
    maker = Maker()
    store, load = maker.node("write", "shared"), maker.node("read", "shared")
    maker.edge(load, store, "thread")
    (finding,) = maker.findings("shared-memory-abuse")
    assert {place.node for place in finding.places} == {store, load}
    assert finding.removal == maker.graph().totals
    assert finding.shares.instructions == 1
    assert finding.severity is Severity.HIGH
    assert finding.evidence["registers_a_thread"] == 1  # 2 KiB, 512 threads


def test_one_byte_between_threads_is_not_abuse():
    maker = Maker()
    store, load = maker.node("write", "shared"), maker.node("read", "shared")
    maker.edge(load, store, "thread", BYTES - 4)
    maker.edge(load, store, "warp_diff_inst")
    assert maker.findings("shared-memory-abuse") == []


def test_shared_memory_never_touched_again_is_not_abuse():
    maker = Maker()
    maker.node("write", "shared")
    assert maker.findings("shared-memory-abuse") == []


def test_private_global_memory_is_not_abuse_of_shared_memory():
    maker = Maker()
    maker.node("write")
    maker.node()
    maker.edge(1, 0, "thread")
    assert maker.findings("shared-memory-abuse") == []


def test_neighbours_tile_is_what_shared_memory_is_for():
    """Case 8: write all, barrier, read the neighbour's."""
    maker = Maker()
    store, load = maker.node("write", "shared"), maker.node("read", "shared")
    maker.edge(load, store, "block", BYTES // 32, 0)
    maker.edge(load, store, "warp_diff_inst", None, 0)
    assert maker.findings("shared-memory-abuse") == []
    assert maker.findings("race-candidate") == []


def test_asynchronous_staging_gets_a_caveat():
    maker = Maker()
    maker.node("write", "shared", asynchronous=True, pc=17)
    maker.node("read", "shared")
    maker.edge(1, 0, "thread")
    (finding,) = maker.findings("shared-memory-abuse")
    assert "asynchronous copies" in finding.caveat


# Local memory


def test_array_of_a_thread_in_local_memory_could_be_registers():
    maker = Maker()
    store, load = maker.node("write", "local"), maker.node("read", "local")
    maker.edge(load, store, "thread")
    (finding,) = maker.findings("local-memory")
    assert {place.node for place in finding.places} == {store, load}
    assert finding.removal == maker.graph().totals
    assert finding.evidence["bytes_a_thread"] == 4  # 2 KiB, 512 threads
    assert finding.evidence["reuse_intensity"] == 2
    # It takes the stores along, so it comes before what finds the loads alone.
    assert [each.pattern for each in maker.findings()][:2] == ["local-memory", "redundant-read"]


def test_local_memory_never_touched_again_is_no_finding():
    maker = Maker()
    maker.node("write", "local")
    assert maker.findings("local-memory") == []


@pytest.mark.parametrize("space", ["shared", "global"])
def test_private_values_elsewhere_are_not_local_memory(space):
    maker = Maker()
    maker.node("write", space)
    maker.node("read", space)
    maker.edge(1, 0, "thread")
    assert maker.findings("local-memory") == []


# Streaming


def test_copy_is_streaming():
    """Case 2: a strided copy is all cold."""
    maker = Maker()
    maker.node()
    maker.node("write")
    findings = maker.findings("streaming")
    assert [finding.evidence["cold_share"] for finding in findings] == [1, 1]
    assert {finding.severity for finding in findings} == {Severity.INFO}


@pytest.mark.parametrize(("threshold", "found"), [(0.9375, False), (0.9374, True)])
def test_streaming_has_to_exceed_the_threshold(threshold, found):
    maker = Maker()
    maker.node()
    maker.edge(0, 0, "thread", BYTES // 16)
    assert bool(maker.findings("streaming", Thresholds(streaming=threshold))) is found


def test_streaming_says_how_much_is_touched_again():
    maker = Maker()
    store, load = maker.node("write"), maker.node()
    maker.edge(load, store, "thread")
    (finding,) = maker.findings("streaming")
    assert finding.places[0].node == store
    assert finding.evidence["touched_again_share"] == 1


def test_first_touch_of_shared_memory_is_not_streaming():
    maker = Maker()
    maker.node("write", "shared")
    assert maker.findings("streaming") == []


# Constant candidate


def coefficients(footprint=256, *, type="read", addresses=1):  # noqa: A002
    maker = Maker()
    maker.node(type, addresses=addresses, sectors=1, executions=16 * 128)
    maker.cold(0, footprint)
    maker.edge(0, 0, "warp_same_inst", 16 * 128 * 31 * 4)
    maker.edge(0, 0, "block")
    return maker


def test_small_region_read_by_broadcast_only_is_a_candidate():
    (finding,) = coefficients().findings("constant-candidate")
    assert finding.evidence["footprint_bytes"] == 256
    assert finding.evidence["reuse_intensity"] == 16 * 128 * 128 / 256


def test_region_that_is_written_is_no_candidate():
    maker = coefficients()
    store = maker.node("write", executions=1, lanes=1)
    maker.edge(store, 0, "block")
    assert maker.findings("constant-candidate") == []


def test_region_with_one_reader_that_is_no_broadcast_is_no_candidate():
    maker = coefficients()
    reader = maker.node("read", executions=1)
    maker.edge(reader, 0, "grid")
    assert maker.findings("constant-candidate") == []


def test_candidate_that_no_warp_reads_a_second_time_comes_after_what_matters():
    maker = Maker()
    maker.node(addresses=1, sectors=1)
    maker.edge(0, 0, "warp_same_inst", BYTES * 31 // 32)
    broadcast, candidate = maker.findings()
    assert [broadcast.pattern, candidate.pattern] == ["broadcast", "constant-candidate"]
    assert candidate.severity is Severity.INFO
    assert "second time" in candidate.caveat


def test_candidate_that_is_read_again_comes_before_the_broadcast_it_is():
    candidate, broadcast, *_ = coefficients().findings()
    assert [candidate.pattern, broadcast.pattern] == ["constant-candidate", "broadcast"]
    assert candidate.severity is Severity.LOW
    assert "second time" not in candidate.caveat


def test_region_has_to_fit_constant_memory():
    assert coefficients(4096).findings("constant-candidate", Thresholds(constant_bytes=4096))
    assert coefficients(4096).findings("constant-candidate", Thresholds(constant_bytes=4095)) == []
