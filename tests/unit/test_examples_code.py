"""What the examples plant is in the machine code: each planted line makes the accesses it is said to make."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))

from harness import build, cases, code, examples, lines

if TYPE_CHECKING:
    from harness.examples import Expected

ROOT = Path(__file__).parents[2]
KERNELS: dict[str, Expected] = {
    "bank_stride": cases.bank_stride(),
    "late_commit": cases.late_commit(),
    "load_matrix": cases.load_matrix(),
    "local_array": cases.local_array(4),
    "missing_barrier": {**cases.publish(racy=True), **cases.tiles(8)},
    "mixed_widths": cases.mixed_widths(),
    "wide_broadcast": cases.wide_broadcast(),
    "zero_fill": cases.zero_fill(),
}
PROGRAMS = {
    **{f"examples/{name}.cu": plant() for name, (_, plant) in examples.ARGUMENTS.items() if " " not in name},
    **{f"tests/gpu/kernels/{name}.cu": expected for name, expected in KERNELS.items()},
}

pytestmark = pytest.mark.skipif(build.nvcc() is None, reason="no nvcc")


@pytest.mark.parametrize("program", PROGRAMS)
def test_planted_accesses_are_in_the_code(program: str, tmp_path: Path) -> None:
    cubin = tmp_path / "program.cubin"
    command = [
        str(build.nvcc()),
        *build.FLAGS,
        "-arch=sm_90",
        "-Iexamples",
        "-cubin",
        "-o",
        str(cubin),
        program,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    table = lines.table(cubin, ROOT / program)
    for kernel, expected in PROGRAMS[program].items():
        found = {
            (line or "?", space, kind)
            for (function, _), (line, sass) in table.items()
            if re.match(rf"_Z{len(kernel)}{kernel}", function)
            for space, kind in code.accesses(sass)
        }
        assert found == {access.key for access in expected}
