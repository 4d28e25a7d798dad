"""What following the order of barriers costs (``--barrier-order``): prints a table, writes JSON.

    python benchmarks/barrier_order.py [--rounds N] [--shrink N] [--seconds N] [--output FILE]

Kernel times of the microbenchmarks, plain and on the GPU engine without and with it, in turn; the best round
counts. Wall times of the examples that have barriers, also under the host engine, with which the bytes that
barriers ordered are compared. What there is is written after the kernels and after each example. Needs an
NVIDIA GPU, nvcc and cuvein. The exit status is 1 when a run failed or the engines do not agree.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from command_line import duration, natural, new_file
from machine import ROOT, build, demand_gpu, describe, keep, session

if TYPE_CHECKING:
    from cuvein.profile.model import LaunchProfile

RESULT = ROOT / "benchmarks" / "results" / "barrier-order.json"
WAYS: dict[str, list[str] | None] = {
    "plain": None,
    "off": ["--engine", "gpu", "--barrier-order", "off"],
    "on": ["--engine", "gpu", "--barrier-order", "on"],
}
HOST = ["--engine", "host"]
# Large enough that kernels, not the start of the program, are most of it.
EXAMPLES = {
    "softmax": ["4096", "1024"],
    "reduction": ["8192"],
    "stencil": ["4096"],
    "matmul": ["512"],
    "transpose": ["2048"],
}


def kernels(program: Path, rounds: int, shrink: int, seconds: float) -> dict[str, dict[str, float]]:
    """Milliseconds of each microbenchmark's kernel, by way."""
    best: dict[str, dict[str, float]] = {}
    command = [str(program), "--shrink", str(shrink), "--repeat", "3"]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            for way, options in WAYS.items():
                words = (
                    command
                    if options is None
                    else _observed(Path(folder) / f"{way}-{number}", options, command)
                )
                outcome = session.execute(words, seconds)
                if outcome.status != 0:
                    raise RuntimeError(f"{way}: {outcome}")
                for line in outcome.stdout.decode().splitlines():
                    if line.startswith('{"kernel"'):
                        entry = json.loads(line)
                        row = best.setdefault(entry["kernel"], {})
                        row[way] = min(entry["milliseconds"], row.get(way, math.inf))
    return best


def example(
    program: Path, words: list[str], rounds: int, seconds: float
) -> tuple[dict[str, float], list[Any], bool]:
    """Wall seconds of a program by way, what its barriers ordered, and whether the engines agree on that."""
    best: dict[str, float] = {}
    ordered: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            for way, options in {**WAYS, "host": HOST}.items():
                if way == "host" and number > 0:
                    continue
                output = Path(folder) / f"{way}-{number}"
                command = [str(program), *words]
                start = time.monotonic()
                outcome = session.execute(
                    command if options is None else _observed(output, options, command), seconds
                )
                best[way] = min(time.monotonic() - start, best.get(way, math.inf))
                if outcome.status != 0:
                    raise RuntimeError(f"{program.name}, {way}: {outcome}")
                if options is not None:
                    profiles = session.Session(outcome, output).profiles
                    if way != "host" and any(profile.engine != "gpu" for profile in profiles):
                        raise RuntimeError(f"{program.name}, {way}: the host engine had a launch")
                    ordered[way] = [_barriers(profile) for profile in profiles]
    seconds_by_way = {way: round(value, 3) for way, value in best.items()}
    return seconds_by_way, ordered["on"], ordered["on"] == ordered["host"]


def _barriers(profile: LaunchProfile) -> list[tuple[int, int | None]]:
    return [
        (barrier.pc, barrier.ordered_bytes) for barrier in profile.barriers or () if barrier.kind == "block"
    ]


def _observed(output: Path, options: list[str], command: list[str]) -> list[str]:
    return [*session.CUVEIN, "run", "--output", str(output), *options, "--", *command]


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=natural, default=3, help="(default: 3)")
    parser.add_argument(
        "--shrink", type=natural, default=8, help="divide the microbenchmarks' work by this (default: 8)"
    )
    parser.add_argument("--seconds", type=duration, default=120, help="after which a run is given up")
    parser.add_argument("--output", type=new_file, default=RESULT, metavar="FILE", help="JSON")
    arguments = parser.parse_args()
    gpu = demand_gpu(parser)
    sources = ["benchmarks/kernels/microbenchmarks.cu", *(f"examples/{name}.cu" for name in EXAMPLES)]
    built = build.compile_all(sources, ROOT, ROOT / "build" / "benchmarks", gpu.architecture)
    result: dict[str, Any] = {
        "format": "cuvein benchmark",
        **describe(),
        "kernels": {
            "source": "benchmarks/kernels/microbenchmarks.cu",
            "what": "kernel time in milliseconds, mean of 3 launches after the first, best round: plain, and "
            "on the GPU engine with --barrier-order off and on",
            "shrink": arguments.shrink,
            "rounds": arguments.rounds,
            "milliseconds": {},
        },
        "examples": {
            "what": "wall seconds of the whole program, best round (host engine: one)",
            "programs": {},
        },
    }

    good = True
    try:
        times = kernels(Path(built["microbenchmarks"]), arguments.rounds, arguments.shrink, arguments.seconds)
        result["kernels"]["milliseconds"] = times
        for name, row in times.items():
            print(
                f"{name:10}",
                *(f"{way} {row[way]:10.4f}" for way in WAYS),
                f"on/off {row['on'] / row['off']:.2f}",
            )
        keep(result, arguments.output)
    except (RuntimeError, TimeoutError) as error:
        print(error)
        good = False
    for name, words in EXAMPLES.items():
        try:
            best, ordered, equal = example(Path(built[name]), words, arguments.rounds, arguments.seconds)
        except (RuntimeError, TimeoutError) as error:
            print(error)
            good = False
            continue
        result["examples"]["programs"][name] = {
            "arguments": words,
            "seconds": best,
            "ordered_bytes": ordered,
            "as_the_host_engine": equal,
        }
        keep(result, arguments.output)
        good = good and equal
        cells = [f"{way} {value:8.3f} s" for way, value in best.items()]
        print(f"{name:10}", *cells, "as" if equal else "NOT as", "the host engine")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
