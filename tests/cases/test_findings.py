"""What the patterns say about the known hard cases, from the records through the engine to the finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cases import kernels
from cuvein.findings import Analysis
from cuvein.graph import Graph
from cuvein.vocabulary import Space
from reference import engine
from reference.streams import Warp, launch

if TYPE_CHECKING:
    from cuvein.patterns import Finding


def findings(kernel: kernels.Kernel, pattern: str) -> list[Finding]:
    shape, records = kernel
    analysis = Analysis()
    analysis.add(Graph(engine.profiles([shape], records, 2)[shape.sequence]))
    return [finding for finding in analysis.report().findings if finding.pattern == pattern]


def test_bank_conflicts_name_the_strided_read() -> None:
    (finding,) = findings(kernels.strided_shared_read(), "bank-conflict")
    assert [place.pc for place in finding.places] == [0x60]
    # Of the launch's 10 wavefronts, 6 go.
    assert finding.removal.wavefronts == 6


@pytest.mark.parametrize(("stride", "found"), [(1, 0), (2, 2), (32, 2)])
def test_strided_copies_coalesce_poorly(stride: int, found: int) -> None:
    places = [
        place.pc
        for finding in findings(kernels.strided_copy(stride, 4096), "poor-coalescing")
        for place in finding.places
    ]
    assert sorted(places) == [0x40, 0x50][:found]


def test_the_accumulator_is_not_silent() -> None:
    rounds = 8
    (finding,) = findings(kernels.accumulate(rounds), "redundant-read")
    assert [place.pc for place in finding.places] == [0x40]
    assert finding.variant == "RAW"
    assert finding.evidence["redundant_share"] == (rounds - 1) / rounds


@pytest.mark.parametrize("writer_first", [False, True])
@pytest.mark.parametrize("barrier", [False, True])
def test_a_race_names_both_ends_and_the_scope(barrier: bool, writer_first: bool) -> None:
    found = findings(kernels.two_words(barrier=barrier, writer_first=writer_first), "race-candidate")
    ends = sorted(tuple(place.pc for place in finding.places) for finding in found)
    assert ends == ([] if barrier else [(0x60, 0x40), (0x70, 0x50)])
    assert {(finding.variant, finding.scope) for finding in found} <= {("RAW", "block")}


@pytest.mark.parametrize("trailing", [False, True])
def test_a_missing_trailing_barrier_is_a_write_after_read(trailing: bool) -> None:
    found = findings(kernels.tile_loop(3, trailing=trailing), "race-candidate")
    told = [
        (finding.variant, finding.scope, tuple(place.pc for place in finding.places)) for finding in found
    ]
    assert told == ([] if trailing else [("WAR", "block", (0x40, 0x60))])


@pytest.mark.parametrize("late", [False, True])
def test_a_copy_that_is_committed_after_the_wait_is_a_hazard(late: bool) -> None:
    found = findings(kernels.double_buffer(4, late=late), "race-candidate")
    told = [
        (finding.variant, finding.scope, tuple(place.pc for place in finding.places)) for finding in found
    ]
    assert told == ([("RAW", "thread", (0x70, 0x41))] if late else [])


def test_contention_is_rated_lower_in_shared_memory() -> None:
    (everywhere,) = findings(kernels.histogram(Space.GLOBAL, 4, 4, 5), "atomic-contention")
    (in_block,) = findings(kernels.histogram(Space.SHARED, 4, 4, 5), "atomic-contention")
    assert everywhere.places[0].pc == in_block.places[0].pc == 0x40
    assert in_block.severity < everywhere.severity


def test_private_slots_are_abuse_and_shared_ones_are_not() -> None:
    (finding,) = findings(kernels.private_slots(), "shared-memory-abuse")
    assert {place.pc for place in finding.places} == {0x40, 0x50}
    assert findings(kernels.tile_loop(3, trailing=True), "shared-memory-abuse") == []


def test_a_wide_broadcast_is_one() -> None:
    read = Warp().read(0x40, lambda lane: kernels.SOURCE, size=16)
    (finding,) = findings((launch(), [read]), "broadcast")
    assert [place.pc for place in finding.places] == [0x40]
