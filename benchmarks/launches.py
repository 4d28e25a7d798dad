"""What launches cost: thousands of a tiny kernel, one of many blocks, kernels not profiled, kernels at once.

    python benchmarks/launches.py [--count N] [--repetitions N] [--budget SECONDS] [--output FILE] [WHAT ...]

Prints and writes medians of the repetitions, in milliseconds as the programs themselves measure them and in
seconds from start to end, and the device memory that came to be used while the kernels ran. The ways take
turns, the host engine in the first round only, and a ratio is the median of those of the turns. Where there
is PyTorch, also what its sort takes. Each comparison is written when it has been made; a way that fails or
takes longer than ``--limit`` is named and the others go on. Needs an NVIDIA GPU, nvcc and cuvein. Missed
goals are said and do not change the exit status, which is 1 when a run failed.

A GPU that nobody uses is shut down and takes a second or two to start again, which would hide what is
measured, so this program keeps a context open all the time.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import own_environment
import subjects
from command_line import demand_known, duration, natural, new_file
from machine import ROOT, build, demand_gpu, describe, keep, session

RESULTS = ROOT / "benchmarks" / "results" / "launches.json"
SORT = ("sum", "sort", "topk")
GOAL_LAUNCHES, GOAL_UNSELECTED = 3.0, 1.05
NOTHING_PROFILED = 120
NUMBERS = "numbers"

Ways = dict[str, "list[str] | None"]
ENGINES: Ways = {"plain": None, "gpu": ["--engine", "gpu"], "host": ["--engine", "host"]}


@dataclass(frozen=True)
class Comparison:
    """A program run in several ways: its source, arguments (``FILE``: where it writes its numbers), ways.

    ``most``: repetitions at most, where a run takes long and hardly varies.
    """

    name: str
    what: str
    source: str | None
    arguments: tuple[str, ...]
    ways: Ways
    most: int = 100


# What matters most comes first.
COMPARISONS = (
    Comparison(
        "launches",
        "times: wall time over that of the plain program; numbers: milliseconds of all launches; MiB of "
        "device memory more than before, after a tenth and after all",
        "tests/gpu/kernels/many_launches.cu",
        ("FILE", "COUNT"),
        {
            "plain": None,
            "auto": ["--engine", "auto"],
            "gpu": ["--engine", "gpu"],
            "host": ["--engine", "host"],
            "gpu, merged": ["--engine", "gpu", "--merge-launches"],
        },
    ),
    Comparison(
        "unselected",
        "numbers: milliseconds of a kernel that is not profiled, another one of its module is",
        "tests/gpu/kernels/unselected.cu",
        ("FILE",),
        {"plain": None, "gpu": ["--engine", "gpu", "--kernel-name", "^light"]},
    ),
    Comparison(
        "tiny",
        "numbers: microseconds of the first launch, MiB of device memory that came with it; microseconds of "
        "a launch on the GPU's clock alone, in a row; until the host may go on, until all are done, each "
        "waited for",
        "benchmarks/kernels/tiny_launches.cu",
        (),
        ENGINES,
    ),
    Comparison(
        "overlap",
        "eight kernels at once, each in a stream of its own",
        "tests/gpu/kernels/overlap.cu",
        ("8",),
        ENGINES,
    ),
    Comparison(
        "operators",
        f"numbers: seconds of PyTorch's {', '.join(SORT)} on 2048 rows, each run twice",
        None,
        ("--size", "usual", "--times", "2", "--seconds", "FILE", *SORT),
        {"gpu": ["--engine", "gpu"]},
        most=1,
    ),
    Comparison(
        "many blocks",
        "one launch of 22 million blocks of one warp that works",
        "tests/gpu/kernels/many_blocks.cu",
        (),
        ENGINES,
        most=1,
    ),
)


class RunError(Exception):
    """A run did not end as it should; the message says how."""


def measure(
    command: list[str], options: list[str] | None, folder: Path, limit: float
) -> tuple[float, list[float]]:
    """Wall seconds of a run, and the numbers that the program wrote to its file in ``folder`` or said last.

    Raises
    ------
    RunError
        When it does not end well, or not in time.
    """
    # Nothing is deleted between runs: ext4 looks past what was deleted in the last minutes for each new file.
    file, profiles = folder / NUMBERS, Path(tempfile.mkdtemp(dir=folder)) / "profiles"
    file.unlink(missing_ok=True)
    start = time.monotonic()
    try:
        if options is None:
            outcome = session.execute(command, limit)
        else:
            outcome = session.profile(profiles, command, *options, timeout=limit).outcome
        wall = time.monotonic() - start
    except TimeoutError:
        raise RunError(f"more than {limit:g} s") from None
    if outcome.status not in {0, NOTHING_PROFILED}:
        said = outcome.stderr.decode(errors="replace").strip().splitlines()
        raise RunError(f"status {outcome.status}: {said[-1] if said else 'it said nothing'}")
    if file.exists():
        return wall, [float(word) for word in file.read_text().split()]
    # The programs that name no file say their numbers in the last line.
    said_last = outcome.stdout.decode().strip().rpartition("\n")[2]
    return wall, [float(word) for word in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", said_last)]


def keep_gpu_awake() -> None:
    """Open a context on the first GPU, for as long as this process lives.

    Raises
    ------
    RuntimeError
        When the driver refuses.
    """
    driver = ctypes.CDLL("libcuda.so.1")
    device_number, context = ctypes.c_int(), ctypes.c_void_p()
    for status in (
        driver.cuInit(0),
        driver.cuDeviceGet(ctypes.byref(device_number), 0),
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device_number),
    ):
        if status != 0:
            raise RuntimeError(f"the GPU cannot be kept awake: the driver says {status}")


def compare(
    command: list[str], folder: Path, ways: Ways, *, repetitions: int, limit: float
) -> dict[str, Any]:
    """Run the ways in turn; medians of wall time, of its ratio to the first way's, and of each number.

    A way that fails is not tried again; what it said stands in its place.
    """
    runs: dict[str, list[tuple[float, list[float]]]] = {way: [] for way in ways}
    failures: dict[str, str] = {}
    for turn in range(repetitions):
        for way, options in ways.items():
            if way in failures or (way == "host" and turn > 0):
                continue
            try:
                runs[way].append(measure(command, options, folder, limit))
            except RunError as error:
                failures[way] = str(error)
    first = [wall for wall, _ in next(iter(runs.values()))]
    done: dict[str, Any] = {}
    for way, found in runs.items():
        if way in failures or not found:
            done[way] = {"failure": failures.get(way, "not run")}
            continue
        ratios = [wall / plain for (wall, _), plain in zip(found, first, strict=False)]
        done[way] = {
            "seconds": round(statistics.median(wall for wall, _ in found), 3),
            "least, most": [round(pick(wall for wall, _ in found), 3) for pick in (min, max)],
            "times": round(statistics.median(ratios), 2) if ratios else None,
            "numbers": [round(statistics.median(row), 3) for row in zip(*(n for _, n in found), strict=True)],
        }
    return done


def judge(document: dict[str, Any]) -> list[str]:
    """Say whether the goals are met."""
    sentences = []
    launches = document.get("launches", {}).get("ways", {})
    for way, what in (("gpu", ""), ("auto", ", engine auto")):
        if not all("seconds" in launches.get(name, {}) for name in ("plain", way)):
            continue
        times = launches[way]["numbers"][0] / launches["plain"]["numbers"][0]
        program = launches[way]["times"]
        sentences.append(
            f"{document['count']} launches{what}: {times:.1f} x their time, {program:.2f} x the program "
            f"(goal: {GOAL_LAUNCHES:g}): {'met' if program <= GOAL_LAUNCHES else 'MISSED'}"
        )
        early, late = launches[way]["numbers"][1:3]
        sentences.append(
            f"device memory{what}: {early:g} MiB after a tenth of them, {late:g} after all: "
            f"{'flat' if late <= early else 'MISSED: it grows'}"
        )
    unselected = document.get("unselected", {}).get("ways", {})
    if all("seconds" in unselected.get(way, {}) for way in ("plain", "gpu")):
        slower = unselected["gpu"]["numbers"][0] / unselected["plain"]["numbers"][0]
        sentences.append(
            f"a kernel not profiled: {slower:.3f} x its time (goal: {GOAL_UNSELECTED:g}): "
            f"{'met' if slower <= GOAL_UNSELECTED else 'MISSED'}"
        )
    sentences += [
        f"FAILED: {name}, {way}: {found['failure']}"
        for name, comparison in document.items()
        if isinstance(comparison, dict)
        for way, found in comparison.get("ways", {}).items()
        if "failure" in found
    ]
    return sentences


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [comparison.name for comparison in COMPARISONS]
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"default: all of {', '.join(names)}")
    parser.add_argument("--count", type=natural, default=10000, help="launches of the tiny kernel")
    parser.add_argument("--repetitions", type=natural, default=5)
    parser.add_argument("--limit", type=duration, default=60, help="seconds after which a run is given up")
    parser.add_argument("--budget", type=duration, help="seconds after which no further comparison is begun")
    parser.add_argument(
        "--output", type=new_file, metavar="FILE", help="JSON; default with all: results/launches.json"
    )
    options = parser.parse_args()
    demand_known(parser, options.what, names)
    gpu = demand_gpu(parser)
    own_environment.use()
    begin = time.monotonic()
    output = options.output or (None if options.what else RESULTS)
    chosen = [comparison for comparison in COMPARISONS if comparison.name in (options.what or names)]
    keep_gpu_awake()
    sources = [comparison.source for comparison in chosen if comparison.source]
    built = build.compile_all(sources, ROOT, ROOT / "build" / "gpu" / "programs", gpu.architecture)
    folder = Path(tempfile.mkdtemp(prefix="cuvein-launches-"))
    file = folder / NUMBERS
    document: dict[str, Any] = {
        "format": "cuvein launches",
        "version": 1,
        **describe(),
        "count": options.count,
        "repetitions": options.repetitions,
        "not_begun": [],
    }
    words = {"FILE": str(file), "COUNT": str(options.count)}
    for comparison in chosen:
        python = subjects.python_with_torch() if comparison.source is None else None
        late = options.budget and time.monotonic() - begin > options.budget
        if late or (comparison.source is None and python is None):
            why = "the time given was used up" if late else "no python3 here has PyTorch and Triton"
            document["not_begun"].append(f"{comparison.name}: {why}")
        else:
            start = (
                [str(built[Path(comparison.source).stem])]
                if comparison.source
                else [str(python), str(ROOT / "benchmarks" / "operators.py")]
            )
            command = [*start, *(words.get(word, word) for word in comparison.arguments)]
            repetitions = min(options.repetitions, comparison.most)
            ways = compare(command, folder, comparison.ways, repetitions=repetitions, limit=options.limit)
            document[comparison.name] = {
                "what": comparison.what,
                "command": subjects.shown(command).replace(str(file), "FILE"),
                "ways": ways,
            }
            print(comparison.name, json.dumps(ways), flush=True)
        # What is there is kept if something later fails.
        keep(document, output)
    shutil.rmtree(folder, ignore_errors=True)
    for sentence in [*document["not_begun"], *(said := judge(document))]:
        print(sentence)
    return 1 if any(sentence.startswith("FAILED") for sentence in said) else 0


if __name__ == "__main__":
    sys.exit(main())
