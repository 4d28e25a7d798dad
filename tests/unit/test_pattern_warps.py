"""Patterns of the warp scope: planted, near miss, case, threshold."""

from __future__ import annotations

import pytest

from cuvein.graph import Totals
from cuvein.patterns import Severity, Thresholds
from unit.profiles.maker import Maker

BYTES = 16 * 32 * 4


# Poor coalescing


def test_scattered_load_names_the_excess_sectors():
    maker = Maker()
    maker.node(sectors=32)
    (finding,) = maker.findings("poor-coalescing")
    assert finding.evidence["coalescing_ratio"] == 8
    assert finding.removal.sectors == 16 * 28
    assert finding.removal.instructions == 0
    assert finding.shares.sectors == 0.875


@pytest.mark.parametrize(("stride", "sectors", "ratio"), [(1, 4, 1), (2, 8, 2), (32, 32, 8)])
def test_copy_with_a_stride(stride, sectors, ratio):
    """Case 2: a copy with stride s floats."""
    maker = Maker()
    maker.node(sectors=sectors)
    maker.node("write", sectors=sectors)
    findings = maker.findings("poor-coalescing")
    assert [finding.evidence["coalescing_ratio"] for finding in findings] == (
        [ratio] * 2 if stride > 1 else []
    )


def test_load_of_every_fourth_float():
    """Case 1: two blocks of one warp store s[i] and load s[4 i]: 12 sectors too many each."""
    maker = Maker()
    maker.node("write", executions=2, sectors=4)
    maker.node(executions=2, sectors=16)
    (finding,) = maker.findings("poor-coalescing")
    assert finding.places[0].node == 1
    assert finding.evidence["coalescing_ratio"] == 4
    assert finding.removal.sectors == 2 * 12


@pytest.mark.parametrize(("sectors", "found"), [(5, False), (6, True)])
def test_ratio_is_reported_from_the_threshold_up(sectors, found):
    maker = Maker()
    maker.node(sectors=sectors)  # 1.25 and 1.5
    assert bool(maker.findings("poor-coalescing")) is found
    assert bool(maker.findings("poor-coalescing", Thresholds(coalescing=sectors / 4))) is True
    assert bool(maker.findings("poor-coalescing", Thresholds(coalescing=sectors / 4 + 0.01))) is False


def test_an_ideal_access_is_never_poor():
    maker = Maker()
    maker.node(sectors=4)
    assert maker.findings("poor-coalescing", Thresholds(coalescing=1.0)) == []


def test_a_lone_lane_cannot_coalesce():
    maker = Maker()
    maker.node(lanes=1, size=16, sectors=2)
    assert maker.findings("poor-coalescing") == []


# Broadcast and multicast


def lanes_read(addresses, *, type="read", lanes=32, space="global"):  # noqa: A002
    maker = Maker()
    maker.node(type, space, lanes=lanes, addresses=addresses, sectors=1)
    largest = max(lanes) if isinstance(lanes, dict) else lanes
    if type == "read" and isinstance(addresses, int) and addresses < largest:
        maker.edge(0, 0, "warp_same_inst", 16 * (largest - addresses) * 4)
    return maker


def test_one_address_for_all_lanes_is_a_broadcast():
    (finding,) = lanes_read(1).findings("broadcast")
    assert finding.evidence["warp_same_inst_bytes"] == BYTES * 31 // 32
    assert finding.severity is Severity.LOW
    assert lanes_read(1).findings("multicast") == []


def test_broadcast_of_sixteen_bytes():
    """Case 12: 16 bytes from the shadow, 496 by the same instruction."""
    maker = Maker()
    maker.node(size=16, executions=1, addresses=1, sectors=1)
    maker.edge(0, 0, "warp_same_inst", 496)
    (finding,) = maker.findings("broadcast")
    assert finding.evidence["warp_same_inst_bytes"] == 496


def test_a_lone_lane_does_not_broadcast():
    assert lanes_read(1, lanes=1).findings("broadcast") == []


def test_the_usual_number_of_addresses_decides():
    assert lanes_read({1: 9, 32: 7}).findings("broadcast")
    assert lanes_read({1: 7, 32: 9}).findings("broadcast") == []


def test_writes_and_atomics_do_not_broadcast():
    assert lanes_read(1, type="write").findings("broadcast") == []
    assert lanes_read(1, type="atomic").findings("broadcast") == []


@pytest.mark.parametrize(("addresses", "found"), [(1, False), (2, True), (31, True), (32, False)])
def test_multicast_is_between_one_address_and_all(addresses, found):
    findings = lanes_read(addresses).findings("multicast")
    assert [finding.removal.bytes for finding in findings] == [16 * (32 - addresses) * 4] * found


# Atomic contention


def histogram_kernel(space="global"):
    """Case 5: a histogram in which all inputs are equal; four warps a block."""
    maker = Maker()
    maker.node()
    if space == "shared":
        maker.node("atomic", "shared", words=1, wavefronts=1, ideal=1)
    else:
        maker.node("atomic", addresses=1, sectors=1)
    maker.cold(1, 4)
    maker.edge(1, 1, "warp_same_inst", BYTES * 31 // 32)
    maker.edge(1, 1, "block")
    return maker


def test_equal_inputs_contend():
    (finding,) = histogram_kernel().findings("atomic-contention")
    assert finding.evidence["warp_same_inst_share"] == 0.96875
    assert finding.evidence["distinct_addresses"] == 1
    assert "96.9 %" in finding.summary
    assert finding.severity is Severity.HIGH
    # All 16 executions meet in one word, and one of each of the 4 blocks has to stay.
    assert finding.removal == Totals(sectors=12, bytes=BYTES - 4)


@pytest.mark.parametrize("others", [0, 3, 15, 60, 120])
def test_contention_in_shared_memory_rates_one_level_lower(others):
    kernels = [histogram_kernel(), histogram_kernel("shared")]
    for kernel in kernels:
        for _ in range(others):
            kernel.node()
    ((in_global,), (in_shared,)) = (kernel.findings("atomic-contention") for kernel in kernels)
    assert in_shared.evidence["warp_same_inst_share"] == 0.96875
    assert in_shared.severity == max(Severity.INFO, in_global.severity - 1)
    assert "shared memory already" in in_shared.caveat
    assert "shared memory already" not in in_global.caveat


def test_contention_inside_the_instruction_alone_costs_no_sectors():
    maker = Maker()
    maker.node("atomic", addresses=16, sectors=4)
    maker.edge(0, 0, "warp_same_inst", BYTES // 2)
    (finding,) = maker.findings("atomic-contention")
    assert finding.removal == Totals(bytes=BYTES // 2)


def test_blocks_that_update_each_address_once_have_nothing_to_privatise():
    maker = Maker()
    maker.node("atomic", executions=4)
    maker.cold(0, 128)
    maker.edge(0, 0, "grid")
    (finding,) = maker.findings("atomic-contention")
    assert finding.removal == Totals(bytes=3 * 128)


def test_an_address_each_does_not_contend():
    maker = Maker()
    maker.node("atomic")
    assert maker.findings("atomic-contention") == []


def test_wide_shared_atomics_are_counted_by_element_not_by_word():
    maker = Maker()
    maker.node("atomic", "shared", size=8, words=64, wavefronts=2, ideal=2)
    assert maker.findings("atomic-contention") == []


@pytest.mark.parametrize(("threshold", "found"), [(0.5, False), (0.4999, True)])
def test_contention_across_warps_has_to_exceed_the_threshold(threshold, found):
    maker = Maker()
    maker.node("atomic")
    maker.edge(0, 0, "thread", BYTES // 2)
    maker.edge(0, 0, "grid", BYTES // 4)
    maker.edge(0, 0, "block")
    findings = maker.findings("atomic-contention", Thresholds(contention=threshold))
    assert [finding.removal.bytes for finding in findings] == [BYTES // 2] * found


def test_a_read_of_one_address_is_not_contention():
    assert lanes_read(1).findings("atomic-contention") == []


# Bank conflicts


def test_transpose_column_conflicts():
    maker = Maker()
    maker.node("write", "shared")
    maker.node("read", "shared", wavefronts=32)
    maker.edge(1, 0, "block", None, 0)
    (finding,) = maker.findings("bank-conflict")
    assert finding.places[0].node == 1
    assert finding.evidence["conflict_ratio"] == 32
    assert finding.removal.wavefronts == 16 * 31
    assert finding.severity is Severity.HIGH


def test_excess_wavefronts_over_the_launch():
    """Case 1 in shared memory: two blocks store s[i], ratio 1, and load s[4 i]: 4 wavefronts, 6 too many."""
    maker = Maker()
    maker.node("write", "shared", executions=2)
    maker.node("read", "shared", executions=2, wavefronts=4)
    (finding,) = maker.findings("bank-conflict")
    assert finding.evidence["conflict_ratio"] == 4
    assert finding.removal.wavefronts == 6


def test_wide_access_at_its_floor_is_free_of_conflicts():
    maker = Maker()
    maker.node("read", "shared", size=16, words=128, wavefronts=4, ideal=4)
    assert maker.findings("bank-conflict", Thresholds(conflict=1.0)) == []


@pytest.mark.parametrize(("size", "told"), [(4, True), (8, True), (16, False)])
def test_a_copy_through_l1_may_conflict_where_it_reads(size, told):
    maker = Maker()
    maker.node("write", "shared", size=size, asynchronous=True, wavefronts=32)
    (finding,) = maker.findings("bank-conflict")
    assert ("bank of L1" in finding.caveat) == told


def test_conflict_is_reported_from_the_threshold_up():
    maker = Maker()
    maker.node("read", "shared", executions=20, wavefronts={1: 18, 2: 2})  # 1.1
    assert maker.findings("bank-conflict")
    assert maker.findings("bank-conflict", Thresholds(conflict=1.1001)) == []


def test_padded_transpose_is_clean():
    maker = Maker()
    maker.node("write", "shared")
    maker.node("read", "shared")
    assert maker.findings("bank-conflict") == []
