"""All microbenchmarks with their graphs, in the order in which each program runs them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

# Importing a module registers its benchmarks.
from micro import (
    banks,
    coalescing,
    copies,
    hopper,
    local,
    redundancy,
    scopes,
    shapes,
    sharing,
    staging,
    unused,
    widths,
)
from micro.graph import BENCHMARKS, Benchmark

__all__ = ["BENCHMARKS", "FOLDER", "LEAST_ARCHITECTURE", "MODULES", "programs", "source"]

FOLDER = Path(__file__).parent
MODULES = (
    scopes,
    redundancy,
    banks,
    coalescing,
    sharing,
    local,
    staging,
    copies,
    shapes,
    widths,
    unused,
    hopper,
)
# Programs that older GPUs cannot run: compute capability in the form of sm_90.
LEAST_ARCHITECTURE = {"staging": 80, "copies": 80, "hopper": 90}


def programs(*, recorded: bool = False) -> dict[str, list[Benchmark]]:
    """Give the benchmarks by program; with ``recorded`` only those that are small enough to be recorded."""
    found: dict[str, list[Benchmark]] = defaultdict(list)
    for entry in BENCHMARKS:
        if entry.recorded or not recorded:
            found[entry.program].append(entry)
    return dict(found)


def source(program: str) -> Path:
    """Where the kernels of a program are."""
    return FOLDER / f"{program}.cu"
