"""Names and source lines of machine code of the host, from the files it lies in."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile

from cuvein.source.host_inlining import HostInlinedCall, HostInlinedCalls
from cuvein.source.missing import Missing
from cuvein.source.names import demangle

if TYPE_CHECKING:
    from cuvein.profile.model import HostFrame, HostModule

__all__ = ["HostCall", "HostSymbols"]

_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
# What a damaged file makes pyelftools raise.
_DAMAGED = (ELFError, DWARFError, ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError)
# Reading the line table of more than this takes minutes, and such files are libraries.
_LARGEST = 64 << 20


@dataclass(frozen=True)
class HostCall:
    """A call on the host.

    Attributes
    ----------
    function
        Demangled name of the function it is in, which may be inlined; ``None`` when not known.
    file, line
        Source line, ``None`` when not known.
    module
        Path of the file with the code, ``None`` for code made at run time.
    why
        Why there is no source line.
    """

    function: str | None
    file: str | None
    line: int | None
    module: str | None
    why: Missing | None


class HostSymbols:
    """Finds out what calls on the host are; keeps what it read.

    A file that is not the one that ran, which its build id tells, is not asked.
    """

    def __init__(self) -> None:
        self._files: dict[HostModule, _File | Missing] = {}
        self._calls: dict[tuple[HostModule, int], tuple[HostCall, ...]] = {}

    def calls(self, frame: HostFrame, modules: list[HostModule]) -> tuple[HostCall, ...]:
        """Say what a call is, given as ``launch.host_modules`` and a frame of a call site.

        There are several where functions were inlined, the innermost first.
        """
        if frame.module is None or frame.module >= len(modules):
            return (HostCall(None, None, None, None, Missing("the code was made at run time")),)
        module = modules[frame.module]
        key = module, frame.offset
        if key not in self._calls:
            self._calls[key] = self._look_up(module, frame)
        return self._calls[key]

    def _look_up(self, module: HostModule, frame: HostFrame) -> tuple[HostCall, ...]:
        if module not in self._files:
            self._files[module] = _File.open(module)
        file = self._files[module]
        name = frame.symbol
        if isinstance(file, Missing):
            return (HostCall(demangle(name) if name else None, None, None, module.path, file),)
        name = name or file.function(frame.offset)
        place = file.line(frame.offset)
        function = demangle(name) if name else None
        if isinstance(place, Missing):
            return (HostCall(function, None, None, module.path, place),)
        calls = []
        for inlined in file.inlined(frame.offset):
            within = demangle(inlined.function) if inlined.function else None
            calls.append(HostCall(within, *place, module.path, None))
            place = inlined.file, inlined.line
        return (*calls, HostCall(function, *place, module.path, None))


class _File:
    """An ELF file, of which only what is asked for is read."""

    def __init__(self, module: HostModule, elf: ELFFile) -> None:
        self._module = module
        self._elf = elf
        self._symbols: tuple[list[int], list[tuple[int, int]], bytes] | None = None
        self._lines: tuple[list[int], list[tuple[int, str, int] | None]] | Missing | None = None
        self._inlined: HostInlinedCalls | None = None

    @classmethod
    def open(cls, module: HostModule) -> _File | Missing:
        name = Path(module.path).name or "the file"
        try:
            stream = Path(module.path).open("rb")  # noqa: SIM115  (stays open as long as it is asked)
            elf = ELFFile(stream)
            found = _build_id(elf)
        except OSError:
            return Missing(f"{name} is not here", "look at the profile where the program ran")
        except _DAMAGED:
            return Missing(f"{name} is not an ELF file")
        if found != module.build_id:
            return Missing(f"{name} is not the file that ran", "look at the profile where it still is")
        return cls(module, elf)

    def function(self, address: int) -> str | None:
        """Give the mangled name of the function around an address."""
        try:
            if self._symbols is None:
                self._symbols = self._read_symbols()
            starts, entries, names = self._symbols
            index = bisect_right(starts, address) - 1
            if index < 0 or address - starts[index] >= entries[index][0]:
                return None
            at = entries[index][1]
            return names[at : names.index(b"\0", at)].decode("utf-8", "replace")
        except _DAMAGED:
            return None

    def line(self, address: int) -> tuple[str, int] | Missing:
        """Give file and line of an address."""
        if self._lines is None:
            try:
                self._lines = self._read_lines()
            except _DAMAGED:
                self._lines = Missing(f"the line table of {Path(self._module.path).name} is damaged")
        if isinstance(self._lines, Missing):
            return self._lines
        starts, rows = self._lines
        index = bisect_right(starts, address) - 1
        row = rows[index] if index >= 0 else None
        if row is None:
            return Missing(f"{Path(self._module.path).name} has no line here", "compile it with -g too")
        return row[1], row[2]

    def inlined(self, address: int) -> list[HostInlinedCall]:
        """Give the calls inlined around an address that has a line, innermost first; none when not known."""
        try:
            if self._inlined is None:
                dwarf = self._elf.get_dwarf_info(relocate_dwarf_sections=False)
                self._inlined = HostInlinedCalls(dwarf, lambda unit: _unit_files(dwarf, unit))
            return self._inlined.at(address)
        except _DAMAGED:
            return []

    def _read_symbols(self) -> tuple[list[int], list[tuple[int, int]], bytes]:
        section = self._elf.get_section_by_name(".symtab") or self._elf.get_section_by_name(".dynsym")
        if section is None:
            return [], [], b""
        table = np.frombuffer(section.data(), dtype=_SYMBOL)
        table = table[np.isin(table["info"] & 15, _FUNCTIONS) & (table["section"] != 0)]
        table = table[np.argsort(table["value"], kind="stable")]
        names: bytes = self._elf.get_section(section["sh_link"]).data()
        sizes = zip(table["size"].tolist(), table["name"].tolist(), strict=True)
        return table["value"].tolist(), list(sizes), names

    def _read_lines(self) -> tuple[list[int], list[tuple[int, str, int] | None]] | Missing:
        name = Path(self._module.path).name
        section = self._elf.get_section_by_name(".debug_line")
        if section is None:
            return Missing(f"{name} has no line table", "compile it with -g")
        if section.data_size > _LARGEST:
            return Missing(f"the line table of {name} is too large to be read")
        dwarf = self._elf.get_dwarf_info(relocate_dwarf_sections=False)
        rows: list[tuple[int, str, int] | None] = []
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            if program is not None:
                rows += _rows(program, _folder(unit))
        known = sorted((row for row in rows if row), key=lambda row: row[0])
        # A sequence ends where no row of another begins.
        starts: list[int] = []
        found: list[tuple[int, str, int] | None] = []
        for row in known:
            if starts and starts[-1] == row[0] and not row[2]:
                continue
            starts.append(row[0])
            found.append(row if row[2] else None)
        return starts, found


def _folder(unit: Any) -> str:
    folder = unit.get_top_DIE().attributes.get("DW_AT_comp_dir")
    return folder.value.decode("utf-8", "replace") if folder else ""


def _unit_files(dwarf: Any, unit: Any) -> list[str]:
    """Give the files of a unit by the numbers that its debug information uses."""
    program = dwarf.line_program_for_CU(unit)
    if program is None:
        return []
    paths = _paths(program.header, _folder(unit))
    return paths if program.header["version"] >= 5 else ["", *paths]


def _paths(header: Any, folder: str) -> list[str]:
    first = 0 if header["version"] >= 5 else 1
    folders = [_text(entry) for entry in header["include_directory"]]
    paths = []
    for entry in header["file_entry"]:
        path = _text(entry.name)
        if not path.startswith("/"):
            index = entry.dir_index
            base = folder if index < first else folders[index - first]
            path = f"{base if base.startswith('/') else f'{folder}/{base}'}/{path}"
        paths.append(path)
    return paths


def _rows(program: Any, folder: str) -> list[tuple[int, str, int]]:
    """Give (address, file, line) of each row; line 0 marks the end of a sequence."""
    first = 0 if program.header["version"] >= 5 else 1
    paths = _paths(program.header, folder)
    rows: list[tuple[int, str, int]] = []
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if state.end_sequence:
            # Rows at the very end are of no instruction.
            while rows and rows[-1][0] == state.address and rows[-1][2]:
                rows.pop()
            rows.append((state.address, "", 0))
        elif 0 <= state.file - first < len(paths) and state.line:
            rows.append((state.address, paths[state.file - first], state.line))
    return rows


def _text(value: Any) -> str:
    raw = value if isinstance(value, bytes) else bytes(value)
    return raw.decode("utf-8", "replace")


def _build_id(elf: ELFFile) -> str | None:
    section: Any = elf.get_section_by_name(".note.gnu.build-id")
    if section is None:
        return None
    for note in section.iter_notes():
        if note["n_type"] == "NT_GNU_BUILD_ID":
            return str(note["n_desc"])
    return None
