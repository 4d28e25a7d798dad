"""Everything about where a profile's nodes come from, in one place for the reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cuvein.source.lines import Frame, LineCoverage, LineTable
from cuvein.source.missing import Missing
from cuvein.source.modules import ModuleSource, ModuleStore
from cuvein.source.names import demangle, short
from cuvein.source.sass import Disassembler, Instruction, cache_folder
from cuvein.source.text import RecordedSource, SourceFinder, read_recorded_sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from cuvein.profile.model import Barrier, LaunchProfile, Node
    from cuvein.source.cubin import Cubin

__all__ = ["Locator", "NodeSource"]


@dataclass(frozen=True)
class NodeSource:
    """Where a node comes from.

    Attributes
    ----------
    function
        Demangled name of the function that holds the instruction.
    frames
        Source lines, innermost first, or why there are none.
    instruction
        The SASS instruction, or why there is none.
    """

    function: str
    frames: tuple[Frame, ...] | Missing
    instruction: Instruction | Missing

    @property
    def line(self) -> str | None:
        """``file:line`` of the innermost frame, the file without its folder."""
        if isinstance(self.frames, Missing):
            return None
        return self.frames[0].place


class Locator:
    """Answers where the nodes of launch profiles come from; keeps what it read for the next question.

    Parameters
    ----------
    store
        Where the modules are.
    disassembler
        Gives the instructions; ``None`` leaves them out.
    roots, recorded, check
        For the source text, as `SourceFinder` takes them.

    Attributes
    ----------
    problems
        One sentence for each record of sources that could not be used.
    """

    def __init__(
        self,
        store: ModuleStore,
        disassembler: Disassembler | None = None,
        roots: Iterable[Path] = (),
        recorded: Mapping[str, RecordedSource] | None = None,
        check: bool = False,
    ) -> None:
        self.store = store
        self._disassembler = disassembler
        self._roots = list(roots)
        self._recorded = recorded or {}
        self._check = check
        self.problems: list[str] = []
        self._tables: dict[str | None, LineTable | Missing] = {}
        self._finders: dict[str | None, SourceFinder] = {}

    @classmethod
    def beside(
        cls,
        *profiles: Path,
        sass: bool = True,
        roots: Iterable[Path] = (),
        sources: Iterable[ModuleSource] = (),
        check: bool = False,
    ) -> Locator:
        """Make a locator for launch profiles: files, or folders that hold some at any depth.

        Modules and sources are looked for beside the profiles.
        """
        folders: dict[Path, None] = {}
        for path in profiles:
            folder = path if path.is_dir() else path.parent
            folders.update(dict.fromkeys([folder, *sorted(folder.rglob("process-*"))]))
        store = ModuleStore(folders, sources)
        recorded: dict[str, RecordedSource] = {}
        problems = []
        for folder in folders:
            kept = read_recorded_sources(folder)
            if isinstance(kept, Missing):
                problems.append(str(kept))
            else:
                recorded.update(kept)
        locator = cls(
            store, Disassembler(store, cache=cache_folder()) if sass else None, roots, recorded, check
        )
        locator.problems = problems
        return locator

    def lines(self, module: str | None) -> LineTable | Missing:
        """Give the line table of a module, by its hash."""
        if module not in self._tables:
            cubin: Cubin | Missing = self.store.cubin(module)
            self._tables[module] = cubin if isinstance(cubin, Missing) else LineTable.of(cubin)
        return self._tables[module]

    def node(self, profile: LaunchProfile, node: Node) -> NodeSource:
        """Say where a node comes from."""
        kernel = profile.launch.kernel
        function = profile.launch.functions[node.function]
        found = self.place(kernel.module, function.mangled, node.pc, kernel.mangled)
        return replace(found, function=function.name or found.function)

    def frames(self, profile: LaunchProfile, node: Node | Barrier) -> tuple[Frame, ...] | Missing:
        """Give the source lines of a node or barrier, innermost first, or why there are none."""
        kernel, function = profile.launch.kernel, profile.launch.functions[node.function]
        return self._frames(kernel.module, function.mangled, node.pc, kernel.mangled)

    def place(self, module: str | None, function: str, pc: int, kernel: str | None = None) -> NodeSource:
        """Say where an instruction comes from, given as a profile gives it.

        Parameters
        ----------
        module
            SHA-256 of the module.
        function
            Mangled name of the function.
        pc
            Offset in the function, in bytes.
        kernel
            Mangled name of the kernel, which tells copies of a called function apart.
        """
        frames = self._frames(module, function, pc, kernel)
        if self._disassembler is None:
            instruction: Instruction | Missing = Missing("instructions were not asked for")
        else:
            instruction = self._disassembler.instruction(module, function, pc, kernel)
        return NodeSource(demangle(function), frames, instruction)

    def nodes(self, profile: LaunchProfile) -> dict[int, NodeSource]:
        """Say where every node of a profile comes from, by id."""
        launch = profile.launch
        used = {launch.functions[node.function].mangled for node in profile.nodes}
        self.prepare(launch.kernel.module, used, launch.kernel.mangled)
        return {node.id: self.node(profile, node) for node in profile.nodes}

    def prepare(self, module: str | None, functions: Iterable[str], kernel: str | None = None) -> None:
        """Disassemble functions in one go, for many calls of `place`; nothing without a disassembler."""
        if self._disassembler is not None and module is not None:
            self._disassembler.prepare(module, sorted(set(functions)), kernel)

    def instructions(
        self, module: str | None, function: str, kernel: str | None = None
    ) -> tuple[Instruction, ...] | Missing:
        """Give all instructions of a function, or why there are none."""
        if self._disassembler is None:
            return Missing("instructions were not asked for")
        return self._disassembler.function(module, function, kernel)

    def coverage(self, profile: LaunchProfile) -> LineCoverage | Missing:
        """Say how many of the kernel's memory instructions have a line, and what to do when not all have."""
        launch = profile.launch
        table = self.lines(launch.kernel.module)
        if isinstance(table, Missing):
            return table
        places = {(launch.functions[node.function].mangled, node.pc) for node in profile.nodes}
        return table.coverage(sorted(places), launch.kernel.mangled)

    def text(self, module: str | None, frame: Frame) -> str | Missing:
        """Give the source text of a frame's line, found through the module's line table."""
        return self.sources(module).line(frame)

    def sources(self, module: str | None) -> SourceFinder:
        """Give the finder of source text for a module."""
        if module not in self._finders:
            table = self.lines(module)
            compiled = {} if isinstance(table, Missing) else table.files()
            self._finders[module] = SourceFinder(self._roots, self._recorded, compiled, self._check)
        return self._finders[module]

    def files(self, profile: LaunchProfile) -> set[str]:
        """Give the source files of a profile's nodes, as the compiler recorded them."""
        places = (self.node(profile, node).frames for node in profile.nodes)
        return {frame.file for frames in places if not isinstance(frames, Missing) for frame in frames}

    def _frames(
        self, module: str | None, function: str, pc: int, kernel: str | None
    ) -> tuple[Frame, ...] | Missing:
        table = self.lines(module)
        if isinstance(table, Missing):
            return table
        return table.at(function, pc, kernel) or self._no_line(table, demangle(function))

    @staticmethod
    def _no_line(table: LineTable, function: str) -> Missing:
        if table.damaged:
            return Missing(table.damaged, "record the module again")
        return Missing(f"{short(function)} has no line here", "compile it with -lineinfo too")
