"""Which planted line of a CUDA source an instruction belongs to.

A planted line ends in a comment ``// @name``; a statement over several lines has it twice, for compilers
differ in which of them they blame. The line table is read with nvdisasm, not with cuvein, so that the tests
do not lean on what they test.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_PLANTED = re.compile(r"// @(\w+)")
_FUNCTION = re.compile(r"^//-+ \.text\.(\S+)\s")
_LINE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)')
_INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*(?:/\*.*)?$")


@cache
def planted(source: Path) -> dict[int, str]:
    """Line number to name."""
    found = {}
    for number, text in enumerate(source.read_text().splitlines(), 1):
        match = _PLANTED.search(text)
        if match:
            found[number] = match[1]
    return found


@cache
def nvdisasm() -> str | None:
    """The disassembler: of the wheel, or of a toolkit."""
    spec = find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(Path(root).glob("cu1*/bin/nvdisasm")):
            return str(path)
    return shutil.which("nvdisasm", path="/usr/local/cuda/bin") or shutil.which("nvdisasm")


def parse(listing: str, source: Path) -> dict[tuple[str, int], tuple[str | None, str]]:
    """Make (mangled function, pc) -> (planted name or None, SASS) of what ``nvdisasm -gi -c`` prints.

    Of a chain of inlined calls the innermost planted line counts.
    """
    names = planted(source)
    found: dict[tuple[str, int], tuple[str | None, str]] = {}
    function = ""
    chain: list[str] = []
    fresh = True
    for text in listing.splitlines():
        if match := _FUNCTION.match(text):
            function, chain, fresh = match[1], [], True
        elif match := _LINE.match(text):
            if fresh:
                chain, fresh = [], False
            if Path(match[1]).name == source.name and int(match[2]) in names:
                chain.append(names[int(match[2])])
        elif match := _INSTRUCTION.match(text):
            fresh = True
            found[function, int(match[1], 16)] = (chain[0] if chain else None, match[2])
    return found


@cache
def table(cubin: Path, source: Path) -> dict[tuple[str, int], tuple[str | None, str]]:
    """Read the line table of ``cubin``: (mangled function, pc) -> (planted name or None, SASS)."""
    tool = nvdisasm()
    if tool is None:
        raise FileNotFoundError("nvdisasm is missing: install nvidia-cuda-nvdisasm or a CUDA toolkit")
    listing = subprocess.run(
        [tool, "-gi", "-c", cubin], capture_output=True, text=True, check=True, timeout=120
    )
    return parse(listing.stdout, source)
