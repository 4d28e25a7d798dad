"""Calls inlined in device-debug builds (``nvcc -G``): the line table lacks them, ``.debug_info`` has them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE

    from cuvein.source.cubin import Cubin
    from cuvein.source.line_program import LineUnit

__all__ = ["InlinedCall", "InlinedCalls", "name_of_call"]

# Addresses have this form; a DW_AT_high_pc of another form counts from DW_AT_low_pc.
ADDRESS = "DW_FORM_addr"


class InlinedCall(NamedTuple):
    """Code from ``low`` up to ``high`` in a section is ``function``, called at ``file``, ``line``."""

    low: int
    high: int
    function: str | None
    file: str
    line: int


class InlinedCalls:
    """The inlined calls of a module. They are read section by section, when asked for.

    Parameters
    ----------
    cubin
        The module.
    units
        The units of its line table, which the calls' file numbers refer to.
    """

    def __init__(self, cubin: Cubin, units: list[LineUnit]) -> None:
        self._units = {unit.offset: unit for unit in units}
        self._calls: dict[int, list[InlinedCall]] = {}
        # In the data the addresses are stale; the relocations have those of the code as it is.
        self._places = {entry.offset: entry for entry in cubin.relocations(".debug_info")}
        self._functions: list[tuple[int, CompileUnit, DIE]] = []
        if self._places:
            try:
                self._functions = list(self._read_functions(cubin))
            except Exception:
                self._functions = []

    def at(self, section: int, address: int) -> list[InlinedCall]:
        """Give the calls inlined around an address of a section, innermost first."""
        if section not in self._calls:
            self._calls[section] = []
            for place, unit, die in self._functions:
                if place == section:
                    try:
                        self._calls[section] += self._read_calls(unit, die)
                    except Exception:
                        continue
        around = [call for call in self._calls[section] if call.low <= address < call.high]
        # A call's code lies within that of the call around it.
        return sorted(around, key=lambda call: call.high - call.low)

    def _read_functions(self, cubin: Cubin) -> Iterator[tuple[int, CompileUnit, DIE]]:
        for unit in cubin.dwarf_units():
            # An entry takes at least a byte; damaged links between them may run in a circle.
            for die in islice(unit.get_top_DIE().iter_children(), unit.size):
                low = die.attributes.get("DW_AT_low_pc")
                place = self._places.get(low.offset) if low is not None else None
                if die.tag == "DW_TAG_subprogram" and place is not None:
                    yield place.section, unit, die

    def _read_calls(self, unit: CompileUnit, function: DIE) -> Iterator[InlinedCall]:
        lines = unit.get_top_DIE().attributes["DW_AT_stmt_list"]
        files = self._units[self._value(lines)].files
        waiting, left = [function], unit.size
        while waiting and left > 0:
            die = waiting.pop()
            children = list(islice(die.iter_children(), left))
            left -= len(children)
            waiting += [child for child in children if child.has_children or _is_call(child)]
            attributes = die.attributes
            if not _is_call(die) or "DW_AT_low_pc" not in attributes or "DW_AT_call_line" not in attributes:
                continue
            low = self._value(attributes["DW_AT_low_pc"])
            high = self._value(attributes["DW_AT_high_pc"])
            if attributes["DW_AT_high_pc"].form != ADDRESS:
                high += low
            file = files[attributes["DW_AT_call_file"].value]
            yield InlinedCall(low, high, name_of_call(die), file.path, attributes["DW_AT_call_line"].value)

    def _value(self, attribute: object) -> int:
        place = self._places.get(attribute.offset)  # type: ignore[attr-defined]
        return place.value if place is not None else int(attribute.value)  # type: ignore[attr-defined]


def _is_call(die: DIE) -> bool:
    return bool(die.tag == "DW_TAG_inlined_subroutine")


def name_of_call(die: DIE) -> str | None:
    """Give the mangled name of the function that was inlined."""
    origin = die.get_DIE_from_attribute("DW_AT_abstract_origin")
    # Of a member of a class the name stands where the class declares it.
    declared = (
        [origin.get_DIE_from_attribute("DW_AT_specification")]
        if "DW_AT_specification" in origin.attributes
        else []
    )
    for attribute in ("DW_AT_linkage_name", "DW_AT_MIPS_linkage_name", "DW_AT_name"):
        for entry in (origin, *declared):
            if attribute in entry.attributes:
                return bytes(entry.attributes[attribute].value).decode("utf-8", "replace")
    return None
