"""The case studies' programs: both variants are right, and they notice when their kernel is not."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness import build, device, session

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import case_studies  # noqa: E402

CASES = case_studies.cases()
COMPILED = [name for name, case in CASES.items() if case.source("before").suffix == ".cu"]
# The smallest fault that leaves a program running: one block's share of the results is missing.
LAZY = r"\1\n  if (blockIdx.x + 1 == gridDim.x) return;"

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def lazy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every ``before.cu``, built with a kernel whose last block does nothing."""
    gpu = device.find()
    assert not isinstance(gpu, str)
    root = tmp_path_factory.mktemp("lazy")
    shutil.copytree(ROOT / "examples", root / "examples")
    sources = []
    for name in COMPILED:
        path = root / "examples" / "cases" / name / "before.cu"
        text, changed = re.subn(r"(__global__ void [^{;]*\{)", LAZY, path.read_text())
        assert changed == 1
        lazy = path.with_name(f"{name}.cu")
        lazy.write_text(text)
        sources.append(str(lazy.relative_to(root)))
    return build.compile_all(sources, root, root / "programs", gpu.architecture)


@pytest.mark.parametrize("name", COMPILED)
def test_a_program_notices_a_block_that_does_nothing(name: str, lazy: dict[str, Path]) -> None:
    outcome = session.execute([str(lazy[name]), *CASES[name].full])
    assert outcome.status == 1, str(outcome)
    assert b"should be" in outcome.stdout


@pytest.mark.parametrize("name", CASES)
def test_both_variants_are_right(name: str, plain: Callable[..., session.Outcome], tmp_path: Path) -> None:
    case = CASES[name]
    gpu = device.find()
    assert not isinstance(gpu, str)
    sources = [case.source(variant) for variant in ("before", "after")]
    names = [str(source.relative_to(ROOT)) for source in sources if source.suffix == ".cu"]
    programs = build.compile_all(names, ROOT, tmp_path, gpu.architecture) if names else {}
    for source in sources:
        command = [str(programs[source.stem])] if programs else [sys.executable, str(source)]
        outcome = plain(*command, *case.small)
        assert (outcome.status, outcome.stdout) == (0, b"ok\n"), str(outcome)
