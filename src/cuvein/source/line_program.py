"""Decode DWARF line programs, versions 2 to 5, with NVIDIA's rows for inlined functions.

A unit of ``.debug_line`` is a header with file names and a program for a small machine that emits rows
(address, file, line). NVIDIA adds two extended opcodes (the names are cuda-gdb's): ``DW_LNE_inlined_call``
carries the number of the row, counted from 1 within its sequence, that the inlined code was called from, and
the name of the inlined function as an offset into ``.debug_str``; a row number of 0 ends the inlined code.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

__all__ = ["LineFile", "LineSequence", "LineUnit", "decode_units"]

# Standard opcodes (DWARF 5, section 6.2.5.2).
COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, CONST_ADD_PC, FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9
# Extended opcodes, the last of them NVIDIA's.
END_SEQUENCE, SET_ADDRESS, DEFINE_FILE, INLINED_CALL = 1, 2, 3, 0x90
# What a DWARF 5 entry can hold, and the forms it comes in (sections 6.2.4.1 and 7.5.6).
CONTENT_PATH, CONTENT_DIRECTORY, CONTENT_TIME, CONTENT_SIZE, CONTENT_MD5 = 1, 2, 3, 4, 5
FORM_DATA2, FORM_DATA4, FORM_DATA8, FORM_STRING, FORM_BLOCK = 0x05, 0x06, 0x07, 0x08, 0x09
FORM_DATA1, FORM_STRP, FORM_UDATA, FORM_DATA16, FORM_LINE_STRP = 0x0B, 0x0E, 0x0F, 0x1E, 0x1F
# Lengths from here up are the mark of the 64-bit format or reserved.
EXTENDED_LENGTH = 0xFFFFFFF0


@dataclass(frozen=True)
class LineFile:
    """A file of the table. ``time`` (seconds since the epoch) and ``size`` are 0 where left out."""

    path: str
    time: int = 0
    size: int = 0
    md5: str | None = None


@dataclass
class LineSequence:
    """Rows of ascending addresses.

    ``base`` is where in the section its address operand stands, which is where the relocation is, and
    ``address`` what it held. A row is ``(address, file number, line, calling row or 0, name's offset)``.
    ``end`` is the first address past the sequence.
    """

    base: int = -1
    address: int = 0
    rows: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    end: int | None = None


@dataclass
class LineUnit:
    """One compilation unit: files by number, sequences; ``damaged`` says why decoding stopped early."""

    version: int
    offset: int = 0
    files: dict[int, LineFile] = field(default_factory=dict)
    sequences: list[LineSequence] = field(default_factory=list)
    damaged: str | None = None


class _DamagedError(Exception):
    """The bytes cannot be a line program."""


class _Reader:
    """Reads numbers and strings from a range of bytes and never past its end."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    def take(self, count: int) -> bytes:
        if count < 0 or self.at + count > self.end:
            raise _DamagedError("it ends in the middle of a value")
        self.at += count
        return self.data[self.at - count : self.at]

    def unsigned(self, width: int) -> int:
        return int.from_bytes(self.take(width), "little")

    def uleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise _DamagedError("a number is longer than 64 bits")

    def sleb(self) -> int:
        start = self.at
        value = self.uleb()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def string(self) -> str:
        stop = self.data.find(b"\0", self.at, self.end)
        if stop < 0:
            raise _DamagedError("a name has no end")
        text = self.data[self.at : stop].decode("utf-8", "replace")
        self.at = stop + 1
        return text


def decode_units(data: bytes, strings: bytes = b"", line_strings: bytes = b"") -> list[LineUnit]:
    """Decode a ``.debug_line`` section.

    Parameters
    ----------
    data
        The section.
    strings, line_strings
        ``.debug_str`` and ``.debug_line_str``, which DWARF 5 takes file names from.

    Returns
    -------
    The units in order. What comes before damage is kept, and the damaged unit says so.
    """
    units: list[LineUnit] = []
    at = 0
    while at < len(data):
        unit = LineUnit(version=0, offset=at)
        units.append(unit)
        reader = _Reader(data, at, len(data))
        try:
            length, width = reader.unsigned(4), 4
            if length == 0xFFFFFFFF:
                length, width = reader.unsigned(8), 8
            elif length >= EXTENDED_LENGTH:
                raise _DamagedError(f"the length {length:#x} is reserved")
            at = reader.at + length
            if at > len(data):
                unit.damaged = "the line table is cut off"
            reader.end = min(at, len(data))
            _decode_unit(reader, unit, width, strings, line_strings)
        except (_DamagedError, struct.error) as error:
            unit.damaged = unit.damaged or f"the line table is damaged: {error}"
            if at <= reader.at:
                break
    return units


def _decode_unit(reader: _Reader, unit: LineUnit, width: int, strings: bytes, line_strings: bytes) -> None:
    unit.version = reader.unsigned(2)
    if not 2 <= unit.version <= 5:
        raise _DamagedError(f"DWARF version {unit.version} is not known")
    if unit.version >= 5:
        reader.unsigned(1)  # address size
        reader.unsigned(1)  # segment selector size
    header_length = reader.unsigned(width)
    program = reader.at + header_length
    if program > reader.end:
        raise _DamagedError("its header is longer than the unit")
    step = reader.unsigned(1)
    if unit.version >= 4:
        reader.unsigned(1)  # operations per VLIW instruction: 1 on GPUs
    reader.unsigned(1)  # default of is_stmt
    line_base = struct.unpack("b", reader.take(1))[0]
    line_range, opcode_base = reader.unsigned(1), reader.unsigned(1)
    if line_range == 0 or opcode_base == 0:
        raise _DamagedError("its header has a zero where none may be")
    operands = reader.take(opcode_base - 1)
    header = _Reader(reader.data, reader.at, program)
    if unit.version >= 5:
        _files_5(header, unit, width, strings, line_strings)
    else:
        _files_2(header, unit)
    reader.at = program
    _run(reader, unit, _Machine(step, line_base, line_range, opcode_base, operands))


def _join(directory: str, name: str) -> str:
    return name if name.startswith("/") or not directory else f"{directory.rstrip('/')}/{name}"


def _files_2(header: _Reader, unit: LineUnit) -> None:
    directories = [""]
    while directory := header.string():
        directories.append(directory)
    number = 1
    while name := header.string():
        unit.files[number] = _file_2(header, name, directories)
        number += 1


def _file_2(reader: _Reader, name: str, directories: list[str]) -> LineFile:
    directory, time, size = reader.uleb(), reader.uleb(), reader.uleb()
    return LineFile(_join(directories[directory] if directory < len(directories) else "", name), time, size)


def _files_5(header: _Reader, unit: LineUnit, width: int, strings: bytes, line_strings: bytes) -> None:
    def entries() -> list[dict[int, int | str | bytes]]:
        formats = [(header.uleb(), header.uleb()) for _ in range(header.unsigned(1))]
        count = header.uleb()
        if (count and not formats) or count > header.end:
            raise _DamagedError("its file list makes no sense")
        return [
            {content: _form(header, form, width, strings, line_strings) for content, form in formats}
            for _ in range(count)
        ]

    directories = [str(entry.get(CONTENT_PATH, "")) for entry in entries()]
    for number, entry in enumerate(entries()):
        index = entry.get(CONTENT_DIRECTORY, 0)
        directory = directories[index] if isinstance(index, int) and index < len(directories) else ""
        # Directory 0 is the compilation's own; the others may be relative to it.
        if directories and directory != directories[0]:
            directory = _join(directories[0], directory)
        time, size, md5 = (entry.get(content, 0) for content in (CONTENT_TIME, CONTENT_SIZE, CONTENT_MD5))
        unit.files[number] = LineFile(
            path=_join(directory, str(entry.get(CONTENT_PATH, ""))),
            time=time if isinstance(time, int) else 0,
            size=size if isinstance(size, int) else 0,
            md5=md5.hex() if isinstance(md5, bytes) else None,
        )


def _form(reader: _Reader, form: int, width: int, strings: bytes, line_strings: bytes) -> int | str | bytes:
    if form == FORM_STRING:
        return reader.string()
    if form in (FORM_STRP, FORM_LINE_STRP):
        table = strings if form == FORM_STRP else line_strings
        return _Reader(table, reader.unsigned(width), len(table)).string()
    if form == FORM_UDATA:
        return reader.uleb()
    if form == FORM_DATA16:
        return reader.take(16)
    if form == FORM_BLOCK:
        return reader.take(reader.uleb())
    widths = {FORM_DATA1: 1, FORM_DATA2: 2, FORM_DATA4: 4, FORM_DATA8: 8}
    if form not in widths:
        raise _DamagedError(f"its file list uses the unknown form {form:#x}")
    return reader.unsigned(widths[form])


@dataclass(frozen=True)
class _Machine:
    """The constants of a unit's program. ``step`` is the smallest instruction, in bytes."""

    step: int
    line_base: int
    line_range: int
    opcode_base: int
    operands: bytes


def _run(reader: _Reader, unit: LineUnit, machine: _Machine) -> None:
    sequence = LineSequence()
    address, file, line, caller, name = 0, 1, 1, 0, 0
    # A sequence counts once it has rows, so that a program without its end keeps what it said.
    while reader.at < reader.end:
        opcode = reader.unsigned(1)
        emit = False
        if opcode >= machine.opcode_base:
            advance, lines = divmod(opcode - machine.opcode_base, machine.line_range)
            address += advance * machine.step
            line += machine.line_base + lines
            emit = True
        elif opcode == 0:
            length = reader.uleb()
            body = _Reader(reader.data, reader.at, min(reader.at + length, reader.end))
            reader.take(length)
            kind = body.unsigned(1) if length else None
            if kind == END_SEQUENCE:
                sequence.end = address
                sequence = LineSequence()
                address, file, line, caller, name = 0, 1, 1, 0, 0
            elif kind == SET_ADDRESS:
                if sequence.rows:
                    raise _DamagedError("a sequence has two addresses")
                # The address is relative to the section that the relocation names.
                sequence.base = body.at
                sequence.address = body.unsigned(length - 1)
                address = 0
            elif kind == DEFINE_FILE:
                text = body.string()
                unit.files[max(unit.files, default=0) + 1] = _file_2(body, text, [""])
            elif kind == INLINED_CALL:
                caller = body.uleb()
                name = body.uleb() if body.at < body.end else 0
        elif opcode == COPY:
            emit = True
        elif opcode == ADVANCE_PC:
            address += reader.uleb() * machine.step
        elif opcode == ADVANCE_LINE:
            line += reader.sleb()
        elif opcode == SET_FILE:
            file = reader.uleb()
        elif opcode == CONST_ADD_PC:
            address += (255 - machine.opcode_base) // machine.line_range * machine.step
        elif opcode == FIXED_ADVANCE_PC:
            address += reader.unsigned(2)
        else:
            # The column, the flags and opcodes not known here: their operands are skipped as the header says.
            for _ in range(machine.operands[opcode - 1]):
                reader.uleb()
        if emit:
            if not sequence.rows:
                unit.sequences.append(sequence)
            sequence.rows.append((address, file, line, caller, name))
