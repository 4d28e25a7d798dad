"""Which accesses an instruction makes, read off its SASS, for tests that what is planted is in the code."""

from __future__ import annotations

import re

_ACCESSES = {
    r"LDG?": [("global", "read")],
    r"STG?": [("global", "write")],
    r"(ATOMG?|REDG?)": [("global", "atomic")],
    r"(LDS|LDSM)": [("shared", "read")],
    r"(STS|STSM)": [("shared", "write")],
    r"ATOMS": [("shared", "atomic")],
    r"LDGSTS": [("global", "read"), ("shared", "write")],
    r"LDL": [("local", "read")],
    r"STL": [("local", "write")],
}


def accesses(sass: str) -> list[tuple[str, str]]:
    """Name space and type of each access of an instruction; those with the predicate "never" make none."""
    if sass.startswith("@!PT "):
        return []
    mnemonic = re.sub(r"^@!?U?P\d ", "", sass).split(" ", 1)[0].split(".", 1)[0]
    return next((found for pattern, found in _ACCESSES.items() if re.fullmatch(pattern, mnemonic)), [])
