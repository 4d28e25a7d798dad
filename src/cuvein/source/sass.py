"""The machine code of the functions that ran, one instruction at a time."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cuvein.source.missing import Missing
from cuvein.source.nvdisasm import WIDTH, Listing, Nvdisasm

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.source.cubin import Cubin, CubinFunction
    from cuvein.source.modules import ModuleStore

__all__ = ["Disassembler", "Instruction", "cache_folder"]

# Goes into the cache's path; raise it when what is cached changes.
CACHE_VERSION = 1

# nvdisasm's mark around what an instruction refers to by name, and its labels.
NAME = re.compile(r"`\(([^()]*)\)")
LABEL = re.compile(r"(\.L_\w+)(@srel)?")


@dataclass(frozen=True)
class Instruction:
    """A SASS instruction at ``offset`` bytes into its function. Jump targets are such offsets too.

    ``calls`` is the mangled name of the function it calls, if it calls one by name.
    """

    offset: int
    predicate: str
    opcode: str
    operands: str
    calls: str | None

    @property
    def text(self) -> str:
        """The instruction on one line, as nvdisasm writes it."""
        return " ".join(part for part in (self.predicate, self.opcode, self.operands) if part)


def cache_folder() -> Path:
    """Give the folder that keeps disassembly: ``$XDG_CACHE_HOME/cuvein/sass``, else under ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # A relative path is to be ignored, says the XDG base directory specification.
    root = Path(base) if base.startswith("/") else Path(os.path.expanduser("~")) / ".cache"  # noqa: PTH111
    return root / "cuvein" / "sass"


class Disassembler:
    """Disassembles functions on demand and remembers them, also from run to run.

    Parameters
    ----------
    store
        Where the modules are.
    nvdisasm
        The disassembler to use; by default the wheel's, then the one on ``PATH``.
    cache
        The folder to keep results in; ``None`` keeps none.
    timeout
        Seconds after which nvdisasm is ended.
    """

    def __init__(
        self,
        store: ModuleStore,
        nvdisasm: Nvdisasm | Missing | None = None,
        cache: Path | None = None,
        timeout: float = 120,
    ) -> None:
        self._store = store
        self._nvdisasm = nvdisasm
        self._cache = cache
        self._timeout = timeout
        self._sections: dict[tuple[str, int], Listing | Missing] = {}

    def instruction(
        self, module: str | None, function: str, offset: int, kernel: str | None = None
    ) -> Instruction | Missing:
        """Give the instruction at a program counter.

        Parameters
        ----------
        module
            SHA-256 of the module, as in the profile.
        function
            Mangled name of the function.
        offset
            Bytes from the function's entry. Both halves of an asynchronous copy are its instruction.
        kernel
            Mangled name of the kernel, which tells copies of a called function apart.
        """
        around = self.neighbourhood(module, function, offset, kernel, before=0, after=0)
        return around if isinstance(around, Missing) else around[0]

    def neighbourhood(
        self,
        module: str | None,
        function: str,
        offset: int,
        kernel: str | None = None,
        *,
        before: int = 3,
        after: int = 3,
    ) -> tuple[Instruction, ...] | Missing:
        """Give the instruction at a program counter with those around it in the same function."""
        listing = self.function(module, function, kernel)
        if isinstance(listing, Missing):
            return listing
        at = offset // WIDTH
        if not 0 <= at < len(listing):
            return Missing(f"the function {function} ends before offset {offset:#x}")
        return listing[max(at - before, 0) : at + after + 1]

    def function(
        self, module: str | None, function: str, kernel: str | None = None
    ) -> tuple[Instruction, ...] | Missing:
        """Give all instructions of a function."""
        cubin = self._store.cubin(module)
        if isinstance(cubin, Missing) or module is None:
            return cubin if isinstance(cubin, Missing) else Missing("no module")
        found = cubin.function(function, kernel)
        if found is None:
            return Missing(f"the module has no function {function}")
        key = (module, found.section)
        if key not in self._sections:
            self.prepare(module, [function], kernel)
        section = self._sections[key]
        return section if isinstance(section, Missing) else _cut(section, found)

    def prepare(self, module: str, functions: Iterable[str], kernel: str | None = None) -> None:
        """Disassemble several functions of a module with one run of nvdisasm, which reads the file once."""
        cubin = self._store.cubin(module)
        if isinstance(cubin, Missing):
            return
        wanted: dict[int, CubinFunction] = {}
        for name in functions:
            found = cubin.function(name, kernel)
            if found is not None and (module, found.section) not in self._sections:
                wanted[found.section] = found
        if self._nvdisasm is None:
            self._nvdisasm = Nvdisasm.find()
        tool = self._nvdisasm
        if isinstance(tool, Missing):
            self._sections.update({(module, section): tool for section in wanted})
            return
        for section in list(wanted):
            cached = self._read_cache(module, section, tool)
            if cached is not None:
                self._sections[module, section] = cached
                del wanted[section]
        if wanted:
            self._disassemble(module, cubin, wanted, tool)

    def _disassemble(
        self, module: str, cubin: Cubin, wanted: dict[int, CubinFunction], tool: Nvdisasm
    ) -> None:
        with self._store.file(module) as path:
            if isinstance(path, Missing):
                listings: dict[str, Listing] | Missing = path
            else:
                listings = tool.disassemble(path, [f.symbol for f in wanted.values()], self._timeout)
        for section in wanted:
            if isinstance(listings, Missing):
                self._sections[module, section] = listings
                continue
            listing = listings.get(cubin.section_name(section))
            if listing is None:
                self._sections[module, section] = Missing("nvdisasm gave no code for the function")
                continue
            self._sections[module, section] = listing
            self._write_cache(module, section, tool, listing)

    def _path(self, module: str, section: int, tool: Nvdisasm) -> Path | None:
        if self._cache is None:
            return None
        return self._cache / f"{CACHE_VERSION}-{tool.version}" / module / f"{section}.json"

    def _read_cache(self, module: str, section: int, tool: Nvdisasm) -> Listing | None:
        path = self._path(module, section, tool)
        if path is None:
            return None
        try:
            return msgspec.json.decode(path.read_bytes(), type=Listing)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            # Not there, or damaged: nvdisasm runs again.
            return None

    def _write_cache(self, module: str, section: int, tool: Nvdisasm, listing: Listing) -> None:
        path = self._path(module, section, tool)
        if path is None:
            return
        # A cache that cannot be written costs time, nothing else.
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(msgspec.json.encode(listing))
                Path(temporary).replace(path)
            except OSError:
                Path(temporary).unlink(missing_ok=True)
                raise


def _cut(section: Listing, function: CubinFunction) -> tuple[Instruction, ...]:
    first, last = function.start // WIDTH, (function.start + function.size) // WIDTH
    return tuple(
        _instruction((index - first) * WIDTH, section.instructions[index], section.labels, function.start)
        for index in range(first, min(last, len(section.instructions)))
    )


def _instruction(offset: int, text: str, labels: dict[str, int], start: int) -> Instruction:
    predicate, _, rest = text.partition(" ") if text.startswith("@") else ("", "", text)
    opcode, _, operands = rest.partition(" ")
    named = NAME.search(operands)
    calls = named[1] if named and opcode.startswith("CALL") and named[1] not in labels else None

    def resolve(match: re.Match[str]) -> str:
        target = labels.get(match[1])
        if target is None:
            return match[0]
        # With @srel the compiler counts from the start of the section.
        return f"{target - (0 if match[2] else start):#x}"

    return Instruction(offset, predicate, opcode, LABEL.sub(resolve, NAME.sub(r"\1", operands)), calls)
