"""What kernels cost on the GPU engine, over the same kernels under callbacks that return at once.

    python benchmarks/kernel_times.py [--rounds N] [--budget SECONDS] [--output FILE] [PROGRAM ...]

Kernel times by CUDA events of the six kernels of ``benchmarks/kernels/microbenchmarks.cu`` and of those of
the examples: plain, under empty callbacks, and on the GPU engine, in turn, all launches after the first. The
mean of a run's launches counts, and of the rounds the best. Prints a table, says where a goal is missed, and
writes JSON after each program. PROGRAM is ``microbenchmarks`` or an example, in quotes where it has a space;
default: all. Needs an NVIDIA GPU, nvcc and cuvein. A missed goal changes nothing about the exit
status, which is 1 when a program failed.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import floor
from command_line import demand_known, duration, natural, new_file
from machine import ROOT, build, demand_gpu, describe, keep, session

RESULTS = ROOT / "benchmarks" / "results" / "kernel-times.json"
MICROBENCHMARKS = "microbenchmarks"
# So large that under empty callbacks a kernel takes a millisecond or more, not what any launch costs.
EXAMPLES = {
    "labels": ["65536"],
    "softmax": ["4096", "1024"],
    "matmul": ["512"],
    "stencil": ["4096"],
    "reduction": ["16384"],
    "histogram": ["32768"],
    "histogram --spread": ["32768", "--spread"],
    "async_copy": ["8192", "8"],
    "transpose": ["4096"],
    "half_rows": ["32768", "512"],
    "bytes": ["65536"],
}
WAYS = ("plain", "empty", "gpu")
GOAL_MEAN, GOAL_MOST = 1.5, 2.2


class RunError(Exception):
    """A run did not end as it should; the message says how."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--rounds", type=natural, default=2, help="(default: 2)")
    parser.add_argument("--limit", type=duration, default=60, help="seconds after which a run is given up")
    parser.add_argument("--budget", type=duration, help="seconds after which no further program is begun")
    parser.add_argument(
        "--output", type=new_file, metavar="FILE", help="JSON; default with all: results/kernel-times.json"
    )
    options = parser.parse_args()
    known = [MICROBENCHMARKS, *EXAMPLES]
    demand_known(parser, options.programs, known)
    gpu = demand_gpu(parser)
    chosen = [name for name in known if name in (options.programs or known)]
    output = options.output or (None if options.programs else RESULTS)
    try:
        built = compile_programs(chosen, gpu.architecture)
    except RuntimeError as error:
        print(f"kernel_times: {error}", file=sys.stderr)
        return 1
    begin = time.monotonic()
    rows: list[dict[str, Any]] = []
    failed: list[str] = []
    print(f"{'program':20} {'kernel':20}" + "".join(f"{way:>10}" for way in WAYS) + f"{'gpu/empty':>11}")
    for name in chosen:
        if options.budget and time.monotonic() - begin > options.budget:
            failed.append(f"{name}: not begun, since the time given was used up")
            continue
        command = [str(built[name]), *(["--repeat", "3"] if name == MICROBENCHMARKS else EXAMPLES[name])]
        try:
            found = measure(name, command, options.rounds, options.limit)
        except RunError as error:
            failed.append(f"{name}: {error}")
            continue
        for row in found:
            print(line(row), flush=True)
        rows += found
        write(output, rows, failed)
    write(output, rows, failed)
    for sentence in failed:
        print(sentence, file=sys.stderr)
    for sentence in judge(rows):
        print(sentence)
    return 1 if failed else 0


def compile_programs(names: list[str], architecture: str) -> dict[str, Path]:
    """Compile the microbenchmarks, and each example with what takes the times of its launches.

    Raises
    ------
    RuntimeError
        When there is no compiler or a source does not compile.
    """
    folder = ROOT / "build" / "benchmarks"
    built: dict[str, Path] = {}
    if MICROBENCHMARKS in names:
        built |= build.compile_all(["benchmarks/kernels/microbenchmarks.cu"], ROOT, folder, architecture)
    nvcc = build.nvcc()
    if nvcc is None:
        raise RuntimeError("no nvcc")

    def timed(name: str) -> Path:
        program = folder / "timed" / name
        sources = [f"examples/{name}.cu", "benchmarks/kernels/launch_times.cu"]
        newest = max((ROOT / source).stat().st_mtime for source in [*sources, "examples/common.h"])
        if program.exists() and program.stat().st_mtime > newest:
            return program
        program.parent.mkdir(parents=True, exist_ok=True)
        command = [nvcc, *build.FLAGS, f"-arch={architecture}", "-Iexamples", "-Dmain=example_main"]
        command += [
            "-Xlinker",
            "--wrap=__cudaLaunchKernel,--wrap=cudaLaunchKernel",
            "-o",
            str(program),
            *sources,
            "-ldl",
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return program

    examples = [name for name in names if name in EXAMPLES]
    sources = sorted({name.split()[0] for name in examples})
    with ThreadPoolExecutor() as pool:
        programs = dict(zip(sources, pool.map(timed, sources), strict=True))
    return {**built, **{name: programs[name.split()[0]] for name in examples}}


def measure(name: str, command: list[str], rounds: int, limit: float) -> list[dict[str, Any]]:
    """Run a program in all ways, in turn; one row a kernel.

    Raises
    ------
    RunError
        When a run does not end well, or not in time, or when the host engine had a launch.
    """
    best: dict[str, dict[str, float]] = {}
    for _ in range(rounds):
        for way in WAYS:
            for kernel, milliseconds in run_once(way, command, limit).items():
                row = best.setdefault(kernel, {})
                row[way] = min(round(milliseconds, 4), row.get(way, math.inf))
    return [
        {
            "program": name,
            "arguments": command[1:],
            "kernel": kernel,
            "milliseconds": row,
            "ratio": round(row["gpu"] / row["empty"], 3),
        }
        for kernel, row in best.items()
    ]


def run_once(way: str, command: list[str], limit: float) -> dict[str, float]:
    """Run a program; mean milliseconds of each of its kernels."""
    with tempfile.TemporaryDirectory(prefix="cuvein-kernel-times-") as name:
        folder = Path(name)
        try:
            if way == "gpu":
                run = session.profile(folder / "profiles", command, engine="gpu", timeout=limit)
                outcome = run.outcome
            else:
                outcome = session.execute(command, limit, floor.variables(folder) if way == "empty" else None)
        except TimeoutError:
            raise RunError(f"{way}: more than {limit:g} s") from None
        if outcome.status != 0:
            raise RunError(f"{way}: {outcome}")
        if way == "gpu" and any(profile.engine != "gpu" for profile in run.profiles):
            raise RunError("gpu: the host engine had a launch")
    times: dict[str, list[float]] = {}
    for text in outcome.stdout.decode().splitlines():
        if text.startswith('{"kernel"'):
            entry = json.loads(text)
            times.setdefault(entry["kernel"], []).append(entry["milliseconds"])
    if not times:
        raise RunError(f"{way}: the program told no times")
    return {kernel: statistics.fmean(of_kernel) for kernel, of_kernel in times.items()}


def write(file: Path | None, rows: list[dict[str, Any]], failed: list[str]) -> None:
    """Write what there is so far, where it is wanted."""
    document = {
        "format": "cuvein kernel times",
        "version": 1,
        "machine": describe(),
        "goal": {"mean": GOAL_MEAN, "most": GOAL_MOST},
        "summary": summary(rows),
        "failed": failed,
        "kernels": rows,
    }
    keep(document, file)


def summary(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Give geometric mean and largest ratio: of all kernels, of the microbenchmarks, of the examples."""
    parts = {
        "all": rows,
        "microbenchmarks": [row for row in rows if row["program"] == MICROBENCHMARKS],
        "examples": [row for row in rows if row["program"] != MICROBENCHMARKS],
    }
    return {
        name: {
            "kernels": len(part),
            "mean": round(statistics.geometric_mean(row["ratio"] for row in part), 3),
            "most": max(row["ratio"] for row in part),
        }
        for name, part in parts.items()
        if part
    }


def judge(rows: list[dict[str, Any]]) -> list[str]:
    """Say whether the goals are met, and where not."""
    sentences = []
    for name, total in summary(rows).items():
        verdict = "met" if total["mean"] <= GOAL_MEAN and total["most"] <= GOAL_MOST else "MISSED"
        sentences.append(
            f"{name}, {total['kernels']} kernels: geometric mean {total['mean']:.2f} (goal: {GOAL_MEAN:g}), "
            f"most {total['most']:.2f} (goal: {GOAL_MOST:g}): {verdict}"
        )
    return [
        *sentences,
        *(
            f"MISSED: {row['program']} {row['kernel']} takes {row['ratio']:.2f} times as long as empty."
            for row in rows
            if row["ratio"] > GOAL_MOST
        ),
    ]


def line(row: dict[str, Any]) -> str:
    cells = "".join(f"{row['milliseconds'][way]:10.3f}" for way in WAYS)
    return f"{row['program']:20} {row['kernel']:20}{cells}{row['ratio']:11.2f}"


if __name__ == "__main__":
    sys.exit(main())
