"""The case studies: each fix is small; recordings show which finding led to it and went away."""

from __future__ import annotations

import difflib
import json
from functools import cache

import pytest

import case_studies
import golden
from cuvein.patterns import PATTERNS

CASES = case_studies.cases()
TRACES = golden.FOLDER / "cases"
MOST_CHANGES = 15


@cache
def recordings() -> dict[str, dict[str, object]]:
    path = TRACES / golden.MANIFEST
    return dict(json.loads(path.read_text())["recordings"]) if path.exists() else {}


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_complete(name: str) -> None:
    case = CASES[name]
    folder = case_studies.FOLDER / name
    assert {"before.cu", "after.cu", "problem.h", "expect.json"} <= {path.name for path in folder.iterdir()}
    assert case.pattern in {pattern.name for pattern in PATTERNS}
    assert case.quantity in case_studies.QUANTITIES
    assert case.title
    assert case.fix


@pytest.mark.parametrize("name", CASES)
def test_the_fix_is_small(name: str) -> None:
    before, after = (
        (case_studies.FOLDER / name / f"{variant}.cu").read_text().splitlines()
        for variant in ("before", "after")
    )
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    changed = sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal")
    assert 0 < changed < MOST_CHANGES
