"""Race candidates: what fires, and above all what must not."""

from __future__ import annotations

import pytest

from cuvein.findings.baseline import fingerprint
from cuvein.patterns import Effect, Severity, Thresholds
from cuvein.profile.model import HiddenHazard
from unit.profiles.maker import Maker

BYTES = 16 * 32 * 4


def pair(later, earlier, label="block", unordered=64, space="shared"):
    maker = Maker()
    first = maker.node(earlier, space)
    second = maker.node(later, space)
    maker.edge(second, first, label, None, unordered)
    return maker


@pytest.mark.parametrize(
    ("later", "earlier", "kind"),
    [
        ("read", "write", "RAW"),
        ("write", "read", "WAR"),
        ("write", "write", "WAW"),
        ("read", "atomic", "RAW"),
        ("atomic", "read", "WAR"),
        ("atomic", "write", "WAW"),
        ("write", "atomic", "WAW"),
    ],
)
def test_direction_of_a_race(later, earlier, kind):
    (finding,) = pair(later, earlier).findings("race-candidate")
    assert (finding.variant, finding.evidence["direction"]) == (kind, kind)
    assert [place.node for place in finding.places] == [1, 0]  # the later access first
    assert finding.effect is Effect.CORRECTS
    assert finding.severity is Severity.HIGH
    assert finding.evidence["unordered_bytes"] == 64


@pytest.mark.parametrize(
    ("label", "scope", "needs"),
    [
        ("warp_diff_inst", "warp", "__syncwarp"),
        ("block", "block", "__syncthreads"),
        ("grid", "grid", "grid-wide"),
    ],
)
def test_scope_names_the_barrier_that_is_missing(label, scope, needs):
    (finding,) = pair("read", "write", label, space="global").findings("race-candidate")
    assert finding.scope == scope
    assert needs in finding.summary


def test_the_widest_scope_of_a_pair_is_its_scope():
    maker = Maker()
    maker.node("write", "shared")
    maker.node("read", "shared")
    maker.edge(1, 0, "warp_diff_inst", BYTES // 2, 8)
    maker.edge(1, 0, "block", None, 16)
    (finding,) = maker.findings("race-candidate")
    assert finding.scope == "block"
    assert finding.evidence["unordered_bytes"] == 24
    assert finding.evidence["unordered_warp_diff_inst_bytes"] == 8


@pytest.mark.parametrize("unordered", [0, None])
def test_ordered_or_unknown_is_no_candidate(unordered):
    assert pair("read", "write", unordered=unordered).findings("race-candidate") == []


def test_two_atomics_or_two_reads_never_race():
    assert pair("atomic", "atomic", unordered=None).findings("race-candidate") == []
    assert pair("read", "read", unordered=None).findings("race-candidate") == []


def test_words_without_a_barrier():
    """Case 4: one thread writes two shared words, all 128 threads read them."""
    maker = Maker(block=(128, 1, 1))
    maker.node("write", "shared", executions=1, lanes=1, words=2, size=8, wavefronts=1, ideal=1)
    maker.node("read", "shared", executions=4, size=8, words=2, wavefronts=1, ideal=1)
    maker.edge(1, 0, "warp_diff_inst", 8, 8)
    maker.edge(1, 1, "warp_same_inst", 4 * 31 * 8)
    maker.edge(1, 1, "block")
    (finding,) = maker.findings("race-candidate")
    assert finding.variant == "RAW"
    assert [place.pc for place in finding.places] == [32, 16]


def test_tile_loop_without_its_trailing_barrier():
    """Case 4, second half: the next round's store meets the reads of this round."""
    maker = Maker()
    store, load = maker.node("write", "shared"), maker.node("read", "shared")
    maker.edge(load, store, "block", None, 0)
    maker.edge(store, load, "block", BYTES // 2, BYTES // 4)
    (finding,) = maker.findings("race-candidate")
    assert finding.variant == "WAR"
    assert [place.node for place in finding.places] == [store, load]


def test_a_hazard_that_no_edge_shows():
    """One thread writes and reads its word, then the other warps read it: all edges are in order."""
    maker = Maker(block=(128, 1, 1))
    store = maker.node("write", "shared", executions=1, lanes=1, words=1, wavefronts=1, ideal=1)
    load = maker.node("read", "shared", executions=4, lanes=1, words=1, wavefronts=1, ideal=1)
    maker.edge(load, store, "thread", 4, None)
    maker.edge(load, load, "block")
    assert maker.findings("race-candidate") == []
    maker.hidden_hazards.append(HiddenHazard(load, store, 12))
    (finding,) = maker.findings("race-candidate")
    assert (finding.variant, finding.scope) == ("RAW", "block")
    assert [place.node for place in finding.places] == [load, store]
    assert finding.summary == (
        "RAW inside the block: no barrier orders 12 bytes that others accessed in between; needs "
        "__syncthreads()."
    )
    assert maker.findings("race-candidate", Thresholds(race_bytes=12)) == []


def test_a_hidden_hazard_adds_to_what_the_edges_show():
    maker = pair("read", "write", "warp_diff_inst", unordered=64)
    maker.hidden_hazards.append(HiddenHazard(1, 0, 2048))
    (finding,) = maker.findings("race-candidate")
    assert finding.scope == "block"
    assert finding.evidence["unordered_bytes"] == 64 + 2048
    assert finding.evidence["unordered_hidden_bytes"] == 2048
    assert "64 bytes of 2.0 KiB and 2.0 KiB that others accessed in between" in finding.summary


def test_threshold_is_exceeded_not_met():
    maker = pair("read", "write", unordered=64)
    assert maker.findings("race-candidate", Thresholds(race_bytes=64)) == []
    assert maker.findings("race-candidate", Thresholds(race_bytes=63))


def test_an_instruction_can_race_with_itself():
    maker = Maker()
    maker.node("write", "shared")
    maker.edge(0, 0, "block", BYTES // 2, BYTES // 2)
    (finding,) = maker.findings("race-candidate")
    assert [place.node for place in finding.places] == [0]


def test_races_rank_before_any_waste():
    maker = pair("read", "write")
    maker.node(sectors=32, executions=1000)
    assert maker.findings()[0].pattern == "race-candidate"


def test_two_stores_that_race_in_both_directions_are_two_findings():
    maker = Maker()
    maker.node("write", "shared")
    maker.node("write", "shared")
    maker.edge(0, 1, "block", BYTES // 2, 32)
    maker.edge(1, 0, "block", BYTES // 2, 16)
    first, second = maker.findings("race-candidate")
    assert [place.node for place in first.places] == [0, 1]
    assert [place.node for place in second.places] == [1, 0]
    assert fingerprint(first) != fingerprint(second)
