"""Writes the C++ twin of ``src/cuvein/vocabulary.py``: ``generate_vocabulary.py VOCABULARY.py HEADER.h``."""

from __future__ import annotations

import enum
import importlib.util
import sys
from pathlib import Path


def load(path: Path) -> dict[str, object]:
    """Import the vocabulary from its file, without the package around it."""
    spec = importlib.util.spec_from_file_location("vocabulary", path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: getattr(module, name) for name in module.__all__}


def camel(name: str) -> str:
    """``WARP_SAME_INST`` becomes ``WarpSameInst``."""
    return name.title().replace("_", "")


def enumeration(kind: type[enum.IntEnum]) -> str:
    """One enumeration with the name of each value, as Python spells it in profiles (lower case)."""
    values = "".join(f"  k{camel(member.name)} = {member.value},\n" for member in kind)
    cases = "".join(
        f'    case {kind.__name__}::k{camel(member.name)}:\n      return "{member.name.lower()}";\n'
        for member in kind
    )
    return (
        f"enum class {kind.__name__} : uint8_t {{\n{values}}};\n\n"
        f"constexpr unsigned k{kind.__name__}Count = {max(kind) + 1};\n\n"
        f"constexpr const char* name({kind.__name__} value) {{\n"
        f'  switch (value) {{\n{cases}  }}\n  return "?";\n}}\n'
    )


def flags(kind: type[enum.IntFlag]) -> str:
    """Flags become plain constants, since they are combined."""
    return "".join(
        f"constexpr uint8_t k{kind.__name__}{camel(member.name)} = {member.value};\n"
        for member in kind
        if member.name
    )


def constant(name: str, value: object) -> str:
    """An integer constant: ``SECTOR_BYTES`` becomes ``kSectorBytes``."""
    return f"constexpr unsigned k{camel(name)} = {value};\n"


def header(words: dict[str, object]) -> str:
    """The whole header."""
    parts = []
    for name, value in words.items():
        if isinstance(value, type) and issubclass(value, enum.IntFlag):
            parts.append(flags(value))
        elif isinstance(value, type) and issubclass(value, enum.IntEnum):
            parts.append(enumeration(value))
        else:
            parts.append(constant(name, value))
    return (
        "// Generated from src/cuvein/vocabulary.py; edit that file.\n#pragma once\n\n#include <cstdint>\n\n"
        "namespace cuvein {\n\n" + "\n".join(parts) + "\n}  // namespace cuvein\n"
    )


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:3])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(header(load(source)))
