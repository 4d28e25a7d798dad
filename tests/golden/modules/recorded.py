"""The recorded modules, and nvdisasm's word on the lines of each instruction."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["FOLDER", "NAMES", "module", "nvdisasm_lines", "nvdisasm_text"]

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.cubin"))

Lines = list[tuple[str, int]]


def module(name: str) -> bytes:
    """Give a recorded module."""
    return (FOLDER / f"{name}.cubin").read_bytes()


def nvdisasm_text(name: str) -> str:
    """Give the recorded output of ``nvdisasm -c -g -gi`` for a module."""
    return (FOLDER / f"{name}.nvdisasm.txt").read_text()


def nvdisasm_lines(text: str) -> dict[str, dict[int, Lines]]:
    """Read from nvdisasm's output the chain of (file, line), innermost first, by section and offset.

    nvdisasm writes the lines before the first instruction they hold for; they hold until the next ones.
    """
    sections: dict[str, dict[int, Lines]] = {}
    offsets: dict[int, Lines] = {}
    chain: Lines = []
    complete = True
    for text_line in text.splitlines():
        if section := re.match(r"\t\.section\t(\.text\.[^,]+)", text_line):
            offsets = sections.setdefault(section[1], {})
            chain, complete = [], True
        elif line := re.match(r'\t//## File "(.*?)", line (\d+)', text_line):
            chain = [*([] if complete else chain), (line[1], int(line[2]))]
            complete = False
        elif instruction := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s", text_line):
            offsets[int(instruction[1], 16)] = chain
            complete = True
    return sections
