"""Whether the GPU engine's cost is linear in the size of the grid and in the length of the kernel."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from machine import ROOT, build

if TYPE_CHECKING:
    from harness.device import Gpu

__all__ = ["measure", "show"]

# Blocks at this length, and lengths with so many blocks; both are well beyond what fills a GPU.
BLOCKS = [2048 * 2**step for step in range(6)]
LENGTHS = [4 * 2**step for step in range(6)]
SHORT, FEW = 4, 2048
# Linear: doubling the size at most multiplies the cost by this.
GOAL = 2.2


def measure(gpu: Gpu, repetitions: int) -> dict[str, Any]:
    """Run the kernel in all sizes, plainly and under the GPU engine; the best of the repetitions counts."""
    output = ROOT / "build" / "benchmarks"
    program = build.compile_all(["benchmarks/kernels/scaling.cu"], ROOT, output, gpu.architecture)["scaling"]
    sizes = [(blocks, SHORT) for blocks in BLOCKS] + [(FEW, length) for length in LENGTHS]
    command = [str(program), "--repeat", str(repetitions), *(f"{a}:{b}" for a, b in sizes)]
    plain = _times(_lines(command))
    with tempfile.TemporaryDirectory() as folder:
        profiles = Path(folder) / "profiles"
        cuvein = [sys.executable, "-c", "import sys; from cuvein.cli import main; sys.exit(main())"]
        run = [*cuvein, "run", "--engine", "gpu", "--output", str(profiles), "--", *command]
        observed = _times(_lines(run))
        engines = sorted({json.loads(path.read_text())["engine"] for path in profiles.rglob("launch-*.json")})
    result: dict[str, Any] = {
        "goal": f"linear: twice the size costs at most {GOAL} times as much",
        "kernel": "benchmarks/kernels/scaling.cu",
        "engines": engines,
    }
    for axis, chosen in (
        ("grid", [(blocks, SHORT) for blocks in BLOCKS]),
        ("length", [(FEW, length) for length in LENGTHS]),
    ):
        size = np.array([blocks * length for blocks, length in chosen], float)
        cost = np.array([observed[key] for key in chosen])
        # Relative errors count alike over the whole range.
        slope, offset = np.polyfit(size, cost, 1, w=1 / cost)
        result[axis] = {
            "points": [
                {
                    "blocks": blocks,
                    "length": length,
                    "plain_milliseconds": plain[blocks, length],
                    "milliseconds": observed[blocks, length],
                }
                for blocks, length in chosen
            ],
            "fit": {
                "milliseconds": offset,
                "milliseconds_per_1000_block_iterations": slope * 1000,
                "largest_deviation": float(np.max(np.abs(slope * size + offset - cost) / cost)),
            },
            "largest_ratio_of_doubling": float(np.max(cost[1:] / cost[:-1])),
        }
    return result


def _lines(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        sys.exit(f"scaling: {' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def _times(text: str) -> dict[tuple[int, int], float]:
    best: dict[tuple[int, int], float] = {}
    for line in text.splitlines():
        row = json.loads(line)
        key = row["blocks"], row["length"]
        best[key] = min(best.get(key, row["milliseconds"]), row["milliseconds"])
    return best


def show(result: dict[str, Any]) -> None:
    """Print the table, and what is missed."""
    print(f"GPU engine (profiles say: {', '.join(result['engines'])}), milliseconds a launch")
    print(f"{'':8} {'blocks':>8} {'length':>6} {'plain':>9} {'observed':>10} {'of a doubling':>13}")
    for axis in ("grid", "length"):
        before = None
        for point in result[axis]["points"]:
            cost = point["milliseconds"]
            ratio = "" if before is None else f"{cost / before:13.2f}"
            print(
                f"{axis:8} {point['blocks']:8} {point['length']:6} {point['plain_milliseconds']:9.3f}"
                f" {cost:10.3f} {ratio}"
            )
            before = cost
        fit = result[axis]["fit"]
        print(
            f"{axis:8} fit: {fit['milliseconds']:.2f} ms, and for 1000 block iterations"
            f" {fit['milliseconds_per_1000_block_iterations']:.4f} ms more;"
            f" no point lies further off than {fit['largest_deviation']:.1%}"
        )
        largest = result[axis]["largest_ratio_of_doubling"]
        if largest > GOAL:
            print(f"Goal missed: twice the {axis} cost up to {largest:.2f} times as much.")
