"""What is measured: examples, microbenchmarks, programs of others, operators; each a command to run."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import programs
from machine import ROOT, build, device, examples

if TYPE_CHECKING:
    from programs import Size

__all__ = ["GROUPS", "Subject", "SubjectError", "find"]

GROUPS = ("examples", "micro", "rodinia", "xsbench", "llm.c", "polybench", "torch", "triton")
OPERATORS = Path(__file__).parent / "operators.py"


class SubjectError(Exception):
    """Something cannot be measured here; the message says what and why."""


@dataclass(frozen=True)
class Subject:
    """A command to run in ``folder``; ``name`` begins with its group.

    Of its launches the first ``launches`` are compared. ``kernels`` is a regular expression when only kernels
    whose name matches it are of interest.
    """

    name: str
    command: list[str]
    folder: Path
    launches: int = 40
    kernels: str | None = None

    @property
    def group(self) -> str:
        """One of ``GROUPS``."""
        return self.name.split("/")[0]


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
        The subjects, and one exception for each that cannot be had.
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
    order = {group: position for position, group in enumerate(GROUPS)}
    return sorted(subjects, key=lambda subject: (order[subject.group], subject.name)), failed


def _chosen(name: str, groups: list[str]) -> bool:
    return name in groups or name.split("/", maxsplit=1)[0] in groups


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
    built = _compile(sorted((ROOT / "benchmarks" / "micro").glob("*.cu")), output)
    return [Subject(f"micro/{name}", [str(path)], output, 100) for name, path in sorted(built.items())]


def _operators(size: Size) -> list[Subject | SubjectError]:
    for package in ("torch", "triton"):
        if importlib.util.find_spec(package) is None:
            return [SubjectError(f"PyTorch and Triton operators are left out: there is no {package}.")]
    import operators  # noqa: PLC0415

    command = [sys.executable, str(OPERATORS), "--size", size]
    return [Subject(name, [*command, *members], ROOT, 200) for name, members in operators.GROUPS.items()]
