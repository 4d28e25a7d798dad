"""From an instruction to source lines, through the module's own line table."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from cuvein.source.cubin import Cubin, CubinFunction
from cuvein.source.inlining import InlinedCalls
from cuvein.source.line_program import LineFile, LineSequence, LineUnit, decode_units
from cuvein.source.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["REMEDY", "Frame", "LineCoverage", "LineTable"]

REMEDY = (
    "compile with -lineinfo (nvcc, ptxas), --generate-line-info (NVRTC) or lineinfo=True (Numba); "
    "Triton writes lines unless TRITON_DISABLE_LINE_INFO is set"
)


@dataclass(frozen=True)
class Frame:
    """A place in the source: ``file`` and ``line`` as the compiler recorded them.

    ``function`` is the mangled name of the function the line belongs to. For inlined code it is what the
    table says, ``None`` where it says nothing.
    """

    file: str
    line: int
    function: str | None

    @property
    def place(self) -> str:
        """``file:line``, the file without its folder."""
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"


@dataclass(frozen=True)
class LineCoverage:
    """How many of ``instructions`` have a line; ``remedy`` says what to do when not all have one."""

    level: Literal["full", "partial", "none"]
    with_line: int
    instructions: int
    remedy: str | None


@dataclass(frozen=True)
class _Place:
    """What a run of addresses maps to: a row (by index) of a sequence, or nothing (``row`` negative)."""

    unit: LineUnit
    sequence: LineSequence
    row: int


class LineTable:
    """The lines of one module. Get it from `LineTable.of`.

    Attributes
    ----------
    damaged
        Why the table could not be read to its end, or ``None``. What was read is used.
    """

    def __init__(self, cubin: Cubin, units: list[LineUnit], names: bytes) -> None:
        self.damaged = next((unit.damaged for unit in units if unit.damaged), None)
        self._cubin = cubin
        self._names = names
        self._name_bases = _name_bases(units, names)
        self._inlined = InlinedCalls(cubin, units)
        self._starts: dict[int, list[int]] = {}
        self._places: dict[int, list[_Place]] = {}
        self._lay_out(units)

    @classmethod
    def of(cls, module: bytes | Cubin) -> LineTable | Missing:
        """Read the line table of a module.

        Parameters
        ----------
        module
            The module or its bytes.

        Returns
        -------
        The table, or why there is none: no module, damage, or compiled without line information.
        """
        cubin = Cubin.of(module) if isinstance(module, bytes) else module
        if isinstance(cubin, Missing):
            return cubin
        data = cubin.section(".debug_line")
        if data is None and cubin.has_section(".debug_line"):
            return Missing("the module's line table is cut off", "record it again")
        if not data:
            return Missing("the module has no line information", REMEDY)
        names = cubin.section(".debug_str") or b""
        units = decode_units(data, names, cubin.section(".debug_line_str") or b"")
        table = cls(cubin, units, names)
        if not table._starts:
            return Missing(table.damaged or "the module's line table is empty", REMEDY)
        return table

    def at(self, function: str, offset: int, kernel: str | None = None) -> tuple[Frame, ...]:
        """Find the source line of an instruction.

        Parameters
        ----------
        function
            Mangled name of the function.
        offset
            Bytes from the function's entry.
        kernel
            Mangled name of the kernel, which tells copies of a called function apart.

        Returns
        -------
        The innermost frame first, then the call it was inlined at, and so on; empty without a line.
        """
        found = self._cubin.function(function, kernel)
        if found is None or not 0 <= offset < max(found.size, 1):
            return ()
        starts = self._starts.get(found.section)
        if starts is None:
            return ()
        index = bisect_right(starts, found.start + offset) - 1
        if index < 0:
            return ()
        frames = self._chain(self._places[found.section][index], found)
        return frames if len(frames) != 1 else self._with_calls(frames[0], found, offset)

    def files(self) -> dict[str, LineFile]:
        """Give every file that a row names, by path."""
        used: dict[str, LineFile] = {}
        for places in self._places.values():
            for place in places:
                if place.row >= 0:
                    file = place.unit.files.get(place.sequence.rows[place.row][1])
                    if file is not None:
                        used.setdefault(file.path, file)
        return used

    def coverage(self, instructions: Iterable[tuple[str, int]], kernel: str | None = None) -> LineCoverage:
        """Count the instructions, given as (function, offset), that have a line."""
        known = total = 0
        for function, offset in instructions:
            total += 1
            known += bool(self.at(function, offset, kernel))
        if total and known == total:
            return LineCoverage("full", known, total, None)
        return LineCoverage("partial" if known else "none", known, total, REMEDY)

    def _lay_out(self, units: list[LineUnit]) -> None:
        relocated = {
            entry.offset: (entry.section, entry.value) for entry in self._cubin.relocations(".debug_line")
        }
        only = next(iter(self._cubin.code)) if len(self._cubin.code) == 1 else None
        runs: dict[int, list[tuple[int, bool, int, _Place]]] = {}
        for unit in units:
            for sequence in unit.sequences:
                target = relocated.get(sequence.base)
                if target is None and only is not None and sequence.base >= 0:
                    target = (only, sequence.address)
                if target is None:
                    # Without a relocation nothing says which function is meant.
                    continue
                section, base = target
                run = runs.setdefault(section, [])
                for row, (address, *_) in enumerate(sequence.rows):
                    run.append((base + address, True, row, _Place(unit, sequence, row)))
                if sequence.end is not None:
                    run.append((base + sequence.end, False, 0, _Place(unit, sequence, -1)))
        for section, run in runs.items():
            # Of several rows at one address the last holds; an end yields to the next sequence's start.
            run.sort(key=lambda entry: entry[:3])
            self._starts[section] = [entry[0] for entry in run]
            self._places[section] = [entry[3] for entry in run]

    def _chain(self, place: _Place, function: CubinFunction) -> tuple[Frame, ...]:
        frames: list[Frame] = []
        rows, row, seen = place.sequence.rows, place.row, set[int]()
        while 0 <= row < len(rows) and row not in seen:
            seen.add(row)
            _, number, line, caller, name = rows[row]
            file = place.unit.files.get(number)
            if file is None or line <= 0:
                break
            frames.append(Frame(file.path, line, self._name(place.unit, name) if caller else function.name))
            row = caller - 1
        return tuple(frames)

    def _with_calls(self, frame: Frame, function: CubinFunction, offset: int) -> tuple[Frame, ...]:
        """Add the calls that only ``.debug_info`` knows of."""
        calls = self._inlined.at(function.section, function.start + offset)
        if not calls:
            return (frame,)
        callers = [call.function for call in calls[1:]] + [function.name]
        return (
            replace(frame, function=calls[0].function),
            *(Frame(call.file, call.line, caller) for call, caller in zip(calls, callers, strict=True)),
        )

    def _name(self, unit: LineUnit, offset: int) -> str | None:
        base = self._name_bases.get(id(unit))
        return None if base is None else _string(self._names, base + offset)


def _string(strings: bytes, at: int) -> str | None:
    """Give the string that starts at ``at``; ``None`` when none starts there."""
    stop = strings.find(b"\0", at)
    if stop <= at or (at > 0 and strings[at - 1] != 0):
        return None
    return strings[at:stop].decode("utf-8", "replace")


def _name_bases(units: list[LineUnit], strings: bytes) -> dict[int, int]:
    """Find where each unit's function names begin in ``.debug_str``, by the unit's ``id()``.

    nvlink puts the name tables of its inputs one after the other and leaves the offsets in the units as they
    were. So a unit's table begins where the one before it ends, which is after the last name it uses. Only
    when this accounts for the whole section is it taken for true; otherwise no unit has names.
    """
    bases: dict[int, int] = {}
    base = 0
    for unit in units:
        used = {row[4] for sequence in unit.sequences for row in sequence.rows if row[3]}
        if not used:
            continue
        bases[id(unit)] = base
        if any(_string(strings, base + offset) is None for offset in used):
            return {}
        base = strings.index(b"\0", base + max(used)) + 1
    return bases if len(bases) < 2 or base == len(strings) else {}
