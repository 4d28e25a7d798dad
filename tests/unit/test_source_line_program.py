"""The decoder of line programs against pyelftools' own, on what the C++ compiler emits, and on damage."""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from cuvein.source.line_program import LineUnit, decode_units
from golden.modules.recorded import module

if TYPE_CHECKING:
    from pathlib import Path

COMPILER = shutil.which("c++") or shutil.which("g++")

PROGRAM = """
inline __attribute__((always_inline)) int twice(int x) {
  return 2 * x;
}
int value(int a, int b) {
  int sum = a;
  for (int i = 0; i < b; ++i) {
    sum += twice(i) ^ a;
  }

  return sum;
}
"""


def line_section(name: str) -> bytes:
    """Cut ``.debug_line`` out of a recorded module."""
    section = ELFFile(io.BytesIO(module(name))).get_section_by_name(".debug_line")
    return bytes(section.data())


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("version", [3, 4, 5])
def test_rows_and_files_are_those_pyelftools_reads(version: int, tmp_path: Path) -> None:
    source, library = tmp_path / "value.cpp", tmp_path / "value.so"
    source.write_text(PROGRAM)
    command = [COMPILER, f"-gdwarf-{version}", "-O1", "-shared", "-fPIC", "-nostdlib", source, "-o", library]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    with library.open("rb") as file:
        elf = ELFFile(file)
        data, strings, line_strings = (
            bytes(section.data()) if (section := elf.get_section_by_name(name)) else b""
            for name in (".debug_line", ".debug_str", ".debug_line_str")
        )
        dwarf = elf.get_dwarf_info()
        programs = [dwarf.line_program_for_CU(unit) for unit in dwarf.iter_CUs()]
        units = decode_units(data, strings, line_strings)
        assert len(units) == len(programs) > 0
        for unit, program in zip(units, programs, strict=True):
            assert unit.damaged is None
            assert unit.version == program["version"] == version
            assert [row for sequence in unit.sequences for row in rows_of(sequence)] == expected_rows(program)
            assert any(file.path == str(source) for file in unit.files.values())


def rows_of(sequence: Any) -> list[tuple[int, int, int]]:
    rows = [(sequence.address + address, file, line) for address, file, line, _, _ in sequence.rows]
    return [*rows, (sequence.address + sequence.end, -1, -1)]


def expected_rows(program: Any) -> list[tuple[int, int, int]]:
    states = [entry.state for entry in program.get_entries() if entry.state is not None]
    return [
        (state.address, -1, -1) if state.end_sequence else (state.address, state.file, state.line)
        for state in states
    ]


def test_a_unit_in_the_64_bit_format_is_read() -> None:
    data = line_section("lineinfo")
    length = struct.unpack_from("<I", data)[0]
    header = struct.unpack_from("<I", data, 6)[0]
    wide = struct.pack("<IQ", 0xFFFFFFFF, length + 4) + data[4:6] + struct.pack("<Q", header) + data[10:]
    (narrow_unit,), (wide_unit,) = decode_units(data), decode_units(wide)
    assert wide_unit.damaged is None
    assert wide_unit.files == narrow_unit.files
    assert [s.rows for s in wide_unit.sequences] == [s.rows for s in narrow_unit.sequences]


def test_cut_off_anywhere_it_keeps_what_came_before_and_says_so() -> None:
    data = line_section("triton")
    (whole,) = decode_units(data)
    rows = whole.sequences[0].rows
    for length in range(1, len(data)):
        units = decode_units(data[:length])
        assert units[-1].damaged is not None, length
        kept = units[0].sequences[0].rows if units[0].sequences else []
        assert kept == rows[: len(kept)]


def test_the_advances_that_compilers_seldom_use_and_the_md5_of_version_5_are_read() -> None:
    # Line base -5, range 14, opcodes from 13 on are special; instructions are 16 bytes, like those of GPUs.
    header = bytes([16, 1, 1, 0xFB, 14, 13, *(0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)])
    files = b"\x01\x01\x08\x01/k\0" + b"\x03\x01\x08\x02\x0b\x05\x1e\x01a.cu\0\x00" + bytes(range(16))
    # Set address 0; copy; DW_LNS_const_add_pc; copy; DW_LNS_fixed_advance_pc 7; copy; end.
    program = b"\0\x09\x02" + bytes(8) + b"\x01\x08\x01\x09\x07\x00\x01\0\x01\x01"
    body = header + files
    unit = struct.pack("<HBBI", 5, 8, 0, len(body)) + body + program
    (found,) = decode_units(struct.pack("<I", len(unit)) + unit)
    assert found.damaged is None
    assert [row[0] for row in found.sequences[0].rows] == [0, 17 * 16, 17 * 16 + 7]
    assert (found.files[0].path, found.files[0].md5) == ("/k/a.cu", bytes(range(16)).hex())


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [
        (4, 9, "version 9"),
        (7, 0xFF, "longer than the unit"),
        (13, 0, "zero where none may be"),
        (3, 0xFF, "cut off"),
    ],
)
def test_a_damaged_header_is_named(at: int, value: int, says: str) -> None:
    data = bytearray(line_section("triton"))
    data[at] = value
    units = decode_units(bytes(data))
    assert says in str(units[0].damaged)


@given(st.binary(max_size=200))
def test_any_bytes_give_an_answer(data: bytes) -> None:
    assert all(isinstance(unit, LineUnit) for unit in decode_units(data))


@given(st.data())
def test_any_changed_byte_gives_an_answer(data: st.DataObject) -> None:
    section = bytearray(line_section("lineinfo"))
    for _ in range(data.draw(st.integers(1, 4))):
        section[data.draw(st.integers(0, len(section) - 1))] = data.draw(st.integers(0, 255))
    decode_units(bytes(section), b"names")
