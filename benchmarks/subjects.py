"""What is measured: examples, microbenchmarks, programs of others, operators; each a command to run."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import programs
from machine import ROOT, build, device, examples

if TYPE_CHECKING:
    from collections.abc import Iterable

    from programs import Size

__all__ = ["GROUPS", "Subject", "SubjectError", "find", "need_compiler", "python_with_torch", "shown"]

GROUPS = ("examples", "micro", "rodinia", "xsbench", "llm.c", "polybench", "torch", "triton")
OPERATORS = Path(__file__).parent / "operators.py"
# What runs in one process, since starting PyTorch takes longer than most operators.
OPERATOR_GROUPS = {
    "torch/rows": [
        "softmax",
        "log_softmax_wide",
        "layer_norm",
        "batch_norm",
        "cross_entropy",
        "gelu",
        "max_pool",
    ],
    "torch/reductions": ["sum", "sum_columns", "argmax", "cumsum", "histc", "sort", "topk"],
    "torch/moves": ["transpose", "permute", "embedding", "gather", "index_add", "scatter_add"],
    "torch/products": ["matmul", "attention"],
    "triton/rows": ["triton_add", "triton_softmax", "triton_layer_norm"],
    "triton/tiles": ["triton_transpose", "triton_count", "triton_matmul"],
}


class SubjectError(Exception):
    """Something cannot be measured here; the message says what and why."""


@dataclass(frozen=True)
class Subject:
    """A command to run in ``folder``; ``name`` begins with its group.

    Of its launches the first ``launches`` are compared.
    """

    name: str
    command: list[str]
    folder: Path
    launches: int = 40

    @property
    def group(self) -> str:
        """One of ``GROUPS``."""
        return self.name.split("/")[0]


def shown(command: list[str]) -> str:
    """Write a command as results name it: without the folders of the machine that it ran on."""
    return " ".join([Path(command[0]).name, *command[1:]]).replace(f"{ROOT}/", "")


def find(
    groups: list[str], size: Size, *, sources: Path | None, output: Path
) -> tuple[list[Subject], list[Exception]]:
    """Build what the groups consist of.

    Parameters
    ----------
    groups
        Of ``GROUPS``, or names of subjects.
    size
        Which input: ``small`` to compare counts, ``usual`` to take times.
    sources
        Folder with the sources of the programs of others, see ``programs.py``.
    output
        Where things are built.

    Returns
    -------
    tuple
        The subjects, in the order of ``groups``, and one exception for each that cannot be had.
    """
    subjects: list[Subject] = []
    failed: list[Exception] = []
    wanted = [program for program in programs.PROGRAMS if _chosen(program.name, groups)]
    if wanted:
        built, errors = programs.build_all(wanted, size, sources=sources, output=output)
        subjects += [
            Subject(item.program.name, item.command, item.folder, item.program.launches) for item in built
        ]
        failed += errors
    if any(group.split("/")[0] == "examples" for group in groups):
        subjects += [item for item in _examples(output / "examples") if _chosen(item.name, groups)]
    if any(group.split("/")[0] == "micro" for group in groups):
        subjects += [item for item in _micro(output / "micro") if _chosen(item.name, groups)]
    if any(group.split("/")[0] in {"torch", "triton"} for group in groups):
        operators = _operators(size)
        failed += [item for item in operators if isinstance(item, SubjectError)]
        subjects += [item for item in operators if isinstance(item, Subject) and _chosen(item.name, groups)]
    return sorted(subjects, key=lambda subject: (_position(subject.name, groups), subject.name)), failed


def need_compiler(groups: Iterable[str]) -> bool:
    """Whether some of the groups, or of the names of subjects, are programs to compile."""
    return any(group.split("/")[0] not in {"torch", "triton"} for group in groups)


def _chosen(name: str, groups: list[str]) -> bool:
    return _position(name, groups) < len(groups)


def _position(name: str, groups: list[str]) -> int:
    """Give the first place at which a name or its group stands, the length if at none."""
    names = {name, name.split("/", maxsplit=1)[0]}
    return next((place for place, group in enumerate(groups) if group in names), len(groups))


def _compile(sources: list[Path], output: Path) -> dict[str, Path]:
    gpu = device.find()
    architecture = "sm_90" if isinstance(gpu, str) else gpu.architecture
    names = [str(source.relative_to(ROOT)) for source in sources]
    return build.compile_all(names, ROOT, output, architecture)


def _examples(output: Path) -> list[Subject]:
    built = _compile(sorted((ROOT / "examples").glob("*.cu")), output)
    return [
        Subject(f"examples/{name.replace(' --', '-')}", [str(built[name.split()[0]]), *arguments], output)
        for name, (arguments, _) in examples.ARGUMENTS.items()
    ]


def _micro(output: Path) -> list[Subject]:
    from micro.expectations import LEAST_ARCHITECTURE, source  # noqa: PLC0415
    from micro.expectations import programs as benchmarks  # noqa: PLC0415

    gpu = device.find()
    architecture = 90 if isinstance(gpu, str) else int(gpu.architecture.removeprefix("sm_"))
    wanted = benchmarks(recorded=False)
    names = [name for name in wanted if LEAST_ARCHITECTURE.get(name, 0) <= architecture]
    built = _compile([source(name) for name in names], output)
    return [
        Subject(f"micro/{name}", [str(built[name]), *(entry.word for entry in wanted[name])], output, 1000)
        for name in names
    ]


def _operators(size: Size) -> list[Subject | SubjectError]:
    python = python_with_torch()
    if python is None:
        return [SubjectError("torch, triton: left out, since no python3 here has PyTorch and Triton.")]
    command = [python, str(OPERATORS), "--size", size]
    return [Subject(name, [*command, *members], ROOT, 200) for name, members in OPERATOR_GROUPS.items()]


@functools.cache
def python_with_torch() -> str | None:
    """Find this Python or the one on PATH, which has PyTorch where the project's environment has not."""
    for python in (sys.executable, shutil.which("python3")):
        if python:
            code = "import importlib.util as i; i.find_spec('torch') and i.find_spec('triton') or exit(1)"
            if subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0:
                return python
    return None
