"""Calls that a compiler for the host has inlined, from ``.debug_info``."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from elftools.dwarf.ranges import BaseAddressEntry

from cuvein.source.inlining import ADDRESS, name_of_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE
    from elftools.dwarf.dwarfinfo import DWARFInfo

__all__ = ["HostInlinedCall", "HostInlinedCalls"]


class HostInlinedCall(NamedTuple):
    """Code of ``function`` (mangled, where known), called at ``file``, ``line``."""

    function: str | None
    file: str
    line: int


class _Function(NamedTuple):
    ranges: list[tuple[int, int]]
    die: DIE


class HostInlinedCalls:
    """The inlined calls of a program. Only units that an address asked for lies in are read.

    Parameters
    ----------
    dwarf
        The program's debug information.
    files
        Gives the files of a unit, in the order in which calls refer to them.
    """

    def __init__(self, dwarf: DWARFInfo, files: Callable[[CompileUnit], list[str]]) -> None:
        self._dwarf = dwarf
        self._files = files
        self._units: list[tuple[CompileUnit, list[tuple[int, int]]]] = [
            (unit, self._ranges(unit, unit.get_top_DIE())) for unit in dwarf.iter_CUs()
        ]
        self._functions: dict[int, list[_Function]] = {}

    def at(self, address: int) -> list[HostInlinedCall]:
        """Give the calls inlined around an address, innermost first."""
        for unit, ranges in self._units:
            if not _inside(address, ranges):
                continue
            if unit.cu_offset not in self._functions:
                self._functions[unit.cu_offset] = list(self._read_functions(unit))
            for function in self._functions[unit.cu_offset]:
                if _inside(address, function.ranges):
                    return list(self._calls(unit, function.die, address))[::-1]
        return []

    def _read_functions(self, unit: CompileUnit) -> Iterator[_Function]:
        # An entry takes at least a byte; damaged links between them may run in a circle.
        waiting, left = [unit.get_top_DIE()], unit.size
        while waiting and left > 0:
            for die in islice(waiting.pop().iter_children(), left):
                left -= 1
                if die.tag == "DW_TAG_namespace":
                    waiting.append(die)
                elif die.tag == "DW_TAG_subprogram" and (ranges := self._ranges(unit, die)):
                    yield _Function(ranges, die)

    def _calls(self, unit: CompileUnit, function: DIE, address: int) -> Iterator[HostInlinedCall]:
        files = self._files(unit)
        waiting, left = [function], unit.size
        while waiting and left > 0:
            children = list(islice(waiting.pop().iter_children(), left))
            left -= len(children)
            for die in children:
                if die.tag == "DW_TAG_lexical_block":
                    waiting.append(die)
                elif die.tag == "DW_TAG_inlined_subroutine" and _inside(address, self._ranges(unit, die)):
                    call = die.attributes
                    file, line = call["DW_AT_call_file"].value, call["DW_AT_call_line"].value
                    yield HostInlinedCall(name_of_call(die), files[file], line)
                    waiting = [die]
                    break

    def _ranges(self, unit: CompileUnit, die: DIE) -> list[tuple[int, int]]:
        attributes: dict[str, Any] = die.attributes
        if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
            low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
            return [(low, high.value if high.form == ADDRESS else low + high.value)]
        if "DW_AT_ranges" not in attributes:
            return []
        top = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
        base = top.value if top is not None else 0
        found = []
        lists = self._dwarf.range_lists()
        if lists is None:
            return []
        for entry in lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, unit):
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
            else:
                start = 0 if getattr(entry, "is_absolute", False) else base
                found.append((start + entry.begin_offset, start + entry.end_offset))
        return found


def _inside(address: int, ranges: list[tuple[int, int]]) -> bool:
    return any(low <= address < high for low, high in ranges)
