"""Passes of copies and atomics, as an H200 counted them for single instructions."""

from __future__ import annotations

from typing import Any

import pytest

import passes
import probe_passes
from cuvein.vocabulary import RecordFlag, Space
from reference import engine
from reference.graph import graph_of
from reference.streams import Warp, launch


def copied(row: dict[str, Any]) -> int:
    lanes = [
        None if target is None else passes.Lane(target, source, read)
        for target, source, read in zip(row["shared"], row["global"], row["read"], strict=True)
    ]
    return passes.of_copy(lanes, row["size"])


def test_copies_through_l1_take_what_the_rule_says():
    rows = [row for row in passes.probes("copies") if row["instruction"].startswith("cp.async.ca")]
    off = {(row["name"], row["size"]): copied(row) - row["wavefronts"] for row in rows}
    off = {key: difference for key, difference in off.items() if difference}
    assert len(rows) == 244
    assert set(off) == passes.NOT_EXPLAINED
    # A turn waits for those that are counted, and sometimes for more.
    assert all(-3 <= difference < 0 for difference in off.values())


@pytest.mark.parametrize("workers", [1, 3])
def test_a_profile_counts_copies_of_4_and_8_bytes_by_the_rule(workers: int):
    """As the hardware counted them, but for those that the rule does not explain."""
    rows = [row for row in passes.probes("copies") if row["size"] in {4, 8} and any(_on(row))]
    records, shape, warp = [], launch(), Warp()
    for number, row in enumerate(rows):
        lanes = [lane for lane, on in enumerate(_on(row)) if on]
        read = {lane: (1 << 40) + row["global"][lane] for lane in lanes if row["read"][lane]}
        if read:
            sizes = [bytes_read or 0 for bytes_read in row["read"]]
            records.append(warp.read(16 * number, read, sizes, flags=RecordFlag.ASYNC))
        target = {lane: row["shared"][lane] for lane in lanes}
        records.append(
            warp.write(16 * number + 1, target, row["size"], space=Space.SHARED, flags=RecordFlag.ASYNC)
        )
    graph = graph_of(engine.profiles([shape], records, workers, team=workers > 1)[shape.sequence])
    assert len(rows) > 170
    for number, row in enumerate(rows):
        right = copied(row) if (row["name"], row["size"]) in passes.NOT_EXPLAINED else row["wavefronts"]
        assert graph.node(16 * number + 1).wavefronts == {right: 1}, row["name"]


def _on(row: dict[str, Any]) -> list[bool]:
    return [place is not None for place in row["shared"]]


def test_lanes_of_an_atomic_take_turns_in_a_bank_even_at_one_word():
    for row in passes.probes("atomics"):
        assert passes.of_atomic(row["operation"], row["shared"]) == row["wavefronts"], row
    assert {row["operation"] for row in passes.probes("atomics")} == set(passes.OPERATIONS)


def test_a_copy_whose_lanes_are_all_off_is_counted_as_32_passes():
    """A copy past L1 takes 4 passes here; the counter has more, by executions that copy nothing."""
    for row in passes.probes("staging"):
        if row["launch"].startswith("double_buffer"):
            nothing = row["copies_with_all_lanes_off"]
            assert row["wavefronts"] == 4 * row["copies"] + 32 * nothing
            assert row["sectors_by_instruction"] == row["sectors_of_cache"] + 32 * nothing


def test_tiles_of_matrix_products_take_what_the_rule_says():
    """A grid of lanes, columns at a bank of shared memory and rows at one of L1; rows side by side."""
    grid = [passes.Lane(4 * (64 * k + row), 4 * (128 * row + k), 4) for row in range(4) for k in range(8)]
    assert passes.of_copy(grid, 4) == 11
    rows = [passes.Lane(4 * (8 * row + k), 4 * (64 * row + k), 4) for row in range(4) for k in range(8)]
    assert passes.of_copy(rows, 4) == 4
    of_each = {
        row["wavefronts_of_each"] / row["executions_of_each"]
        for row in passes.probes("operators")
        if "simt" in row["kernel"]
    }
    assert of_each == {0, 1, 11}


def test_a_probe_is_written_as_its_program_reads_it():
    for kind in probe_passes.COUNTERS:
        for row in passes.probes(kind):
            name, *numbers = probe_passes.line(row).split()
            assert len(numbers) == 96
            off = [number for number in numbers[2::3] if int(number) < 0]
            assert len(off) == row["shared"].count(None)
            assert f'{{"{name}", ' in (probe_passes.ROOT / "benchmarks/kernels/passes.cu").read_text()


def test_counts_that_changed_are_told(capsys):
    rows = passes.probes("atomics")
    assert probe_passes.show("atomics", rows, [row["wavefronts"] for row in rows])
    assert not probe_passes.show("atomics", rows[:2], [1, 31])
    assert "add, same: 31 passes, 32 before" in capsys.readouterr().out
