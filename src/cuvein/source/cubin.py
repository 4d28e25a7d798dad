"""A GPU module as the driver loaded it: the ELF file's functions, variables, sections and relocations."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from cuvein.source.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elftools.dwarf.compileunit import CompileUnit

__all__ = ["Cubin", "CubinFunction", "CubinVariable", "Relocation"]

EM_CUDA = 190
# Section indices from here up are not sections (SHN_ABS, SHN_COMMON and the like).
RESERVED_SECTIONS = 0xFF00


@dataclass(frozen=True)
class CubinFunction:
    """A function with code: ``start`` and ``size`` in bytes, within section number ``section``.

    ``symbol`` is the symbol's index, the number nvdisasm selects functions by.
    """

    name: str
    symbol: int
    section: int
    start: int
    size: int


@dataclass(frozen=True)
class CubinVariable:
    """A ``__device__`` or ``__constant__`` variable: mangled name, section's name, offset and bytes there."""

    name: str
    section: str
    offset: int
    size: int


class Relocation(NamedTuple):
    """Where a section needs an address (``offset``), and what place: ``value`` bytes into ``section``."""

    offset: int
    section: int
    value: int


class Cubin:
    """The parts of a module that names and lines are taken from.

    Use `Cubin.of`; it never raises on damaged input.
    """

    def __init__(self, data: bytes) -> None:
        self._elf = ELFFile(io.BytesIO(data))
        self._size = len(data)
        sections = list(self._elf.iter_sections())
        self._sections = {section.name: section for section in sections}
        self._names = [section.name for section in sections]
        self._symbols = next((s for s in sections if isinstance(s, SymbolTableSection)), None)
        self.functions, self.variables = self._read_symbols()

    @classmethod
    def of(cls, data: bytes) -> Cubin | Missing:
        """Read a module.

        Parameters
        ----------
        data
            The bytes of a cubin (ELF, machine CUDA).

        Returns
        -------
        The module, or what is wrong with the bytes.
        """
        if not data.startswith(b"\x7fELF"):
            return Missing("the module is not an ELF file", "record it again")
        try:
            cubin = cls(data)
            machine = cubin._elf.header["e_machine"]
        except Exception as error:
            return Missing(f"the module is damaged ({_reason(error)})", "record it again")
        if machine not in ("EM_CUDA", EM_CUDA):
            return Missing(f"the module is not GPU code but an ELF file for {machine}")
        return cubin

    def function(self, name: str, kernel: str | None = None) -> CubinFunction | None:
        """Find a function by its mangled name.

        A device function that was not inlined stands beside its caller under the name ``$caller$function``.
        It is also found by the plain name, when ``kernel`` is the caller or only one such copy exists.
        """
        # A kernel that has its own copy calls that one, also when the function exists on its own.
        found = self.functions.get(f"${kernel}${name}") or self.functions.get(name)
        if found is not None:
            return found
        copies = [
            f for f in self.functions.values() if f.name.startswith("$") and f.name.endswith(f"${name}")
        ]
        return copies[0] if len(copies) == 1 else None

    def section_name(self, number: int) -> str:
        """Give the name of a section."""
        return self._names[number]

    def has_section(self, name: str) -> bool:
        """Say whether the section table lists such a section, whole or not."""
        return name in self._sections

    def section(self, name: str) -> bytes | None:
        """Give a section's bytes, ``None`` without such a section or when it is cut off."""
        section = self._sections.get(name)
        if section is None or section["sh_type"] == "SHT_NOBITS":
            return None
        if section["sh_offset"] + section["sh_size"] > self._size:
            return None
        try:
            return bytes(section.data())
        except Exception:
            return None

    def relocations(self, name: str) -> list[Relocation]:
        """Give the relocations of a section that point into code, or nothing when their table is damaged."""
        try:
            return self._relocations(name)
        except Exception:
            return []

    def dwarf_units(self) -> Iterator[CompileUnit]:
        """Read the compilation units of ``.debug_info``; raises anything when they are damaged."""
        if self.section(".debug_info"):
            yield from self._elf.get_dwarf_info(relocate_dwarf_sections=False).iter_CUs()

    @cached_property
    def code(self) -> frozenset[int]:
        """The numbers of the sections with code."""
        return frozenset(function.section for function in self.functions.values())

    def _relocations(self, name: str) -> list[Relocation]:
        found: list[Relocation] = []
        own = self.section(name)
        for prefix in (".rela", ".rel"):
            table = self._sections.get(prefix + name)
            if not isinstance(table, RelocationSection) or self._symbols is None or own is None:
                continue
            for entry in table.iter_relocations():
                offset = entry["r_offset"]
                symbol = self._symbols.get_symbol(entry["r_info_sym"])
                section = symbol["st_shndx"]
                if not isinstance(section, int):
                    continue
                addend = (
                    entry["r_addend"]
                    if table.is_RELA()
                    else int.from_bytes(own[offset : offset + 8], "little")
                )
                found.append(Relocation(offset, section, symbol["st_value"] + addend))
        return found

    def _read_symbols(self) -> tuple[dict[str, CubinFunction], list[CubinVariable]]:
        functions: dict[str, CubinFunction] = {}
        variables: list[CubinVariable] = []
        if self._symbols is None:
            return functions, variables
        for index, symbol in enumerate(self._symbols.iter_symbols()):
            section = symbol["st_shndx"]
            kind = symbol["st_info"]["type"]
            if not isinstance(section, int) or section >= min(RESERVED_SECTIONS, len(self._names)):
                continue
            if kind == "STT_FUNC":
                functions[symbol.name] = CubinFunction(
                    symbol.name, index, section, symbol["st_value"], symbol["st_size"]
                )
            elif kind == "STT_OBJECT":
                variables.append(
                    CubinVariable(symbol.name, self._names[section], symbol["st_value"], symbol["st_size"])
                )
        return functions, variables


def _reason(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return text[0].rstrip(".") if text else type(error).__name__
