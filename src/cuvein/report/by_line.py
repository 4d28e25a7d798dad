"""The report by source line: what each line of the program does to memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.text import Text

from cuvein.report import numbers, style
from cuvein.report.listing import Listing, Row, Section, kind_name
from cuvein.report.summary import summarise
from cuvein.report.tally import AccessKind, Tally
from cuvein.source import Instruction, Missing, short

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.profile.model import LaunchProfile
    from cuvein.report.summary import AccessSummary, KernelSummary, Summary
    from cuvein.source import Frame, LineCoverage, Locator, NodeSource

__all__ = ["LineDocument", "LineGroup", "LineReport", "by_line", "lines_known"]

FORMAT = "cuvein report by line"
VERSION = 1


@dataclass
class LineGroup:
    """The accesses of one source line, in all kernels given.

    Lines of inlined code are told apart by where they were inlined.

    Attributes
    ----------
    frames
        The line and the calls it was inlined at, innermost first; empty when the line is not known.
    why
        Why the line is not known, else ``None``.
    function
        Demangled name of the function that holds the instructions.
    module
        SHA-256 of a module the line was found in.
    kernels
        Names of the kernels that executed it.
    instructions
        Each instruction with where it comes from.
    kinds
        The sums by kind of access.
    """

    frames: tuple[Frame, ...]
    why: Missing | None
    function: str
    module: str | None
    kernels: set[str] = field(default_factory=set)
    instructions: list[tuple[AccessSummary, NodeSource]] = field(default_factory=list)
    kinds: dict[AccessKind, Tally] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Bytes accessed by the line."""
        return sum(tally.bytes for tally in self.kinds.values())

    @property
    def place(self) -> str:
        """``file:line`` with the file's name only, or what stands for it."""
        known = self.frames[0].place if self.frames else f"{short(self.function)} (line not known)"
        return style.printable(known)


def by_line(summary: Summary, locator: Locator) -> list[LineGroup]:
    """Group the accesses of kernels by source line, those with most bytes first."""
    groups: dict[tuple[object, ...], LineGroup] = {}
    for kernel in summary.kernels:
        accesses = kernel.heaviest()
        locator.prepare(kernel.module, (access.key.function for access in accesses), kernel.mangled)
        for access in accesses:
            source = locator.place(kernel.module, access.key.function, access.key.pc, kernel.mangled)
            frames = () if isinstance(source.frames, Missing) else source.frames
            key: tuple[object, ...] = tuple((frame.file, frame.line) for frame in frames)
            why = source.frames if isinstance(source.frames, Missing) else None
            group = groups.setdefault(
                key or (access.key.function, why), LineGroup(frames, why, access.function, kernel.module)
            )
            _add(group, kernel, access, source)
    return sorted(groups.values(), key=lambda group: (-group.bytes, group.place))


def lines_known(summary: Summary, locator: Locator) -> dict[str, LineCoverage | Missing]:
    """Say of each kernel, by name, how many of its memory instructions have a line, or why none has."""
    places: dict[tuple[str, str | None, str], set[tuple[str, int]]] = {}
    for kernel in summary.kernels:
        used = places.setdefault((kernel.name, kernel.module, kernel.mangled), set())
        used |= {(access.key.function, access.key.pc) for access in kernel.heaviest()}
    found: dict[str, LineCoverage | Missing] = {}
    for (name, module, mangled), used in places.items():
        table = locator.lines(module)
        known = table if isinstance(table, Missing) else table.coverage(sorted(used), mangled)
        found.setdefault(name, known)
    return found


class LineReport:
    """The report by line as text.

    Parameters
    ----------
    locator
        Knows the lines and the source text.
    listing
        Writes the text.
    """

    def __init__(self, locator: Locator, listing: Listing) -> None:
        self._locator = locator
        self._listing = listing

    def render(self, profiles: Iterable[LaunchProfile]) -> str:
        """Make the report; see :class:`cuvein.report.Report`."""
        summary = summarise(profiles)
        groups = by_line(summary, self._locator)
        notes = [str(group.why) for group in groups if group.why is not None]
        notes += _partial(lines_known(summary, self._locator))
        notes += self._locator.problems
        notes += [note for group in self._listing.shown(groups) if (note := self._source_note(group))]
        title = "Source lines by bytes accessed"
        return self._listing.render(summary, title, groups, self._section, list(dict.fromkeys(notes)))

    def _source_note(self, group: LineGroup) -> str | None:
        """Say why the source is not shown, or that it has changed."""
        if not group.frames:
            return None
        file = self._locator.sources(group.module).file(group.frames[0].file)
        if not isinstance(file, Missing):
            text = file.line(group.frames[0].line)
            return str(text) if isinstance(text, Missing) else file.changed
        return str(file)

    def _section(self, group: LineGroup, whole: int) -> Section:
        heading = Text(group.place, "bold")
        heading.append(f"  {numbers.percent(group.bytes, whole)} of all bytes", "dim")
        details = self._text(group)
        details += [Text(f"inlined at {style.printable(frame.place)}", "dim") for frame in group.frames[1:]]
        names = sorted(short(name) for name in group.kernels)
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        details.append(Text(style.printable(f"in {', '.join(names[:3])}{more}"), "dim"))
        return Section(heading, details, _rows(group))

    def _text(self, group: LineGroup) -> list[Text]:
        """Give the line's text; why it is missing is said once for all lines, at the end."""
        text = self._locator.text(group.module, group.frames[0]) if group.frames else None
        if text is None or isinstance(text, Missing):
            return []
        return [Text(style.printable(text.strip().expandtabs(1)))]


class LineDocument:
    """The report by line as JSON, with every instruction."""

    def __init__(self, locator: Locator) -> None:
        self._locator = locator

    def render(self, profiles: Iterable[LaunchProfile]) -> str:
        """Make the report; see :class:`cuvein.report.Report`."""
        summary = summarise(profiles)
        groups = by_line(summary, self._locator)
        document = {
            "format": FORMAT,
            "version": VERSION,
            "kernels": [
                {"name": name, **_coverage(known)}
                for name, known in lines_known(summary, self._locator).items()
            ],
            "lines": [self._group(group) for group in groups],
        }
        return json.dumps(document, indent=2) + "\n"

    def _group(self, group: LineGroup) -> dict[str, Any]:
        text = self._locator.text(group.module, group.frames[0]) if group.frames else None
        return {
            "frames": [{"file": f.file, "line": f.line, "function": f.function} for f in group.frames],
            "line_missing": str(group.why) if group.why else None,
            "text": None if isinstance(text, Missing) else text,
            "text_missing": str(text) if isinstance(text, Missing) else None,
            "function": group.function,
            "kernels": sorted(group.kernels),
            "bytes": group.bytes,
            "accesses": [{**kind._asdict(), **tally.document()} for kind, tally in _heaviest(group)],
            "instructions": [_instruction(access, source) for access, source in group.instructions],
        }


def _coverage(known: LineCoverage | Missing) -> dict[str, Any]:
    if isinstance(known, Missing):
        return {"lines_known": "none", "remedy": str(known)}
    return {
        "lines_known": known.level,
        "instructions": known.instructions,
        "with_line": known.with_line,
        "remedy": known.remedy,
    }


def _partial(coverage: dict[str, LineCoverage | Missing]) -> list[str]:
    # Where no instruction has a line, that is what the note on them says.
    return [
        f"{short(name)}: {known.with_line} of {known.instructions} memory instructions have a line"
        for name, known in coverage.items()
        if not isinstance(known, Missing) and known.level == "partial"
    ]


def _add(group: LineGroup, kernel: KernelSummary, access: AccessSummary, source: NodeSource) -> None:
    group.kernels.add(kernel.name)
    group.instructions.append((access, source))
    kind = AccessKind(access.key.space, access.key.type, access.size, access.asynchronous)
    group.kinds.setdefault(kind, Tally()).add(access)


def _rows(group: LineGroup) -> list[Row]:
    return [
        Row(kind_name(kind), tally, kind.space in ("shared", "distributed_shared"))
        for kind, tally in _heaviest(group)
    ]


def _heaviest(group: LineGroup) -> list[tuple[AccessKind, Tally]]:
    return sorted(group.kinds.items(), key=lambda item: (-item[1].bytes, item[0]))


def _instruction(access: AccessSummary, source: NodeSource) -> dict[str, Any]:
    found = source.instruction
    return {
        "function": access.key.function,
        "pc": access.key.pc,
        "space": access.key.space,
        "type": access.key.type,
        "sass": found.text if isinstance(found, Instruction) else None,
        "sass_missing": None if isinstance(found, Instruction) else str(found),
        "executions": access.executions,
        "bytes": access.bytes,
    }
