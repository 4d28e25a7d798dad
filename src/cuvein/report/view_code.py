"""The code of kernels for the browser report: instructions, the lines they come from, the text of these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cuvein.report.view_model import Code, FunctionCode, SourceView, Text
from cuvein.source import LineCoverage, Missing, demangle

if TYPE_CHECKING:
    from collections.abc import Callable

    import msgspec

    from cuvein.profile.model import LaunchProfile
    from cuvein.source import Locator, SourceFile

__all__ = ["CodeBuilder"]

# Of longer files only what is near the lines in question is kept.
_WHOLE_FILE_LINES = 2000
_NEAR = 40

_Chain = tuple[tuple[int, int, "str | None"], ...]


@dataclass
class _Kernel:
    """What launches of a kernel executed: program counters by function."""

    mangled: str
    module: str | None
    used: dict[str, set[int]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


class CodeBuilder:
    """Collects what launches executed and finds its code at the end.

    Parameters
    ----------
    locator
        Knows lines, instructions and text.
    add
        Keeps a part of the view and returns its number.
    """

    def __init__(self, locator: Locator, add: Callable[[msgspec.Struct], int]) -> None:
        self._locator = locator
        self._add_part = add
        self._kernels: dict[int, _Kernel] = {}

    def add(self, kernel: int, profile: LaunchProfile) -> None:
        """Note which instructions a launch of a kernel executed."""
        launch = profile.launch
        noted = self._kernels.setdefault(kernel, _Kernel(launch.kernel.mangled, launch.kernel.module))
        for node in profile.nodes:
            function = launch.functions[node.function]
            noted.used.setdefault(function.mangled, set()).add(node.pc & ~1 if node.asynchronous else node.pc)
            noted.names.setdefault(function.mangled, function.name)

    def finish(self, kernel: int) -> int | None:
        """Find the code of a kernel and return the number of the part with it."""
        noted = self._kernels.get(kernel)
        if noted is None:
            return None
        self._locator.prepare(noted.module, noted.used, noted.mangled)
        files = _Files()
        chains = _Chains(files)
        functions = [self._function(noted, mangled, chains) for mangled in noted.used]
        return self._add_part(
            Code(
                functions=functions,
                frames=[list(chain) for chain in chains.chains],
                files=[self._source(noted.module, path, lines) for path, lines in files.lines.items()],
                lines=self._lines(noted),
            )
        )

    def _function(self, kernel: _Kernel, mangled: str, chains: _Chains) -> FunctionCode:
        listing = self._locator.instructions(kernel.module, mangled, kernel.mangled)
        used = sorted(kernel.used[mangled])
        table = self._locator.lines(kernel.module)
        missing = str(listing) if isinstance(listing, Missing) else None
        texts: dict[int, str | None] = dict.fromkeys(used)
        if not isinstance(listing, Missing):
            texts = {each.offset: each.text for each in listing} | {
                pc: None for pc in used if all(each.offset != pc for each in listing)
            }
        rows = []
        for pc in sorted(texts):
            frames = () if isinstance(table, Missing) else table.at(mangled, pc, kernel.mangled)
            chain = tuple(
                (frame.file, frame.line, None if frame.function is None else demangle(frame.function))
                for frame in frames
            )
            rows.append((pc, texts[pc], chains.number(chain)))
        return FunctionCode(kernel.names[mangled] or demangle(mangled), mangled, rows, missing)

    def _lines(self, kernel: _Kernel) -> str | None:
        table = self._locator.lines(kernel.module)
        if isinstance(table, Missing):
            return str(table)
        places = sorted((function, pc) for function, pcs in kernel.used.items() for pc in pcs)
        coverage: LineCoverage = table.coverage(places, kernel.mangled)
        if coverage.remedy is None:
            return None
        return (
            f"{coverage.with_line} of {coverage.instructions} memory instructions have a line; "
            f"{coverage.remedy}"
        )

    def _source(self, module: str | None, path: str, used: set[int]) -> SourceView:
        found = self._locator.sources(module).file(path)
        if isinstance(found, Missing):
            return SourceView(path, missing=str(found))
        return SourceView(path, self._add_part(_text(found, used)), changed=found.changed)


class _Files:
    """The files named so far, with the lines of each that are of interest."""

    def __init__(self) -> None:
        self.lines: dict[str, set[int]] = {}
        self._numbers: dict[str, int] = {}

    def number(self, path: str, line: int) -> int:
        self.lines.setdefault(path, set()).add(line)
        return self._numbers.setdefault(path, len(self._numbers))


class _Chains:
    """Chains of frames, each kept once: neighbouring instructions mostly share theirs."""

    def __init__(self, files: _Files) -> None:
        self.chains: list[_Chain] = []
        self._files = files
        self._numbers: dict[object, int] = {}

    def number(self, frames: tuple[tuple[str, int, str | None], ...]) -> int:
        if not frames:
            return -1
        number = self._numbers.get(frames)
        if number is None:
            number = self._numbers[frames] = len(self.chains)
            self.chains.append(
                tuple((self._files.number(path, line), line, function) for path, line, function in frames)
            )
        return number


def _text(file: SourceFile, used: set[int]) -> Text:
    length = len(file.lines)
    if length <= _WHOLE_FILE_LINES:
        return Text([(1, list(file.lines))], length)
    pieces: list[tuple[int, list[str]]] = []
    end = 0
    for line in sorted(each for each in used if 1 <= each <= length):
        first, last = max(1, line - _NEAR), min(length, line + _NEAR)
        if pieces and first <= end + 1:
            pieces[-1][1].extend(file.lines[end:last])
        else:
            pieces.append((first, list(file.lines[first - 1 : last])))
        end = max(end, last)
    return Text(pieces, length)
