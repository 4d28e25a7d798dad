"""What launches cost: thousands of a tiny kernel, one of many blocks, kernels not profiled, kernels at once.

    python benchmarks/launches.py [--count N] [--repetitions N] [--output FILE]

Prints and writes medians of the repetitions, in milliseconds as the programs themselves measure them and in
seconds from start to end, and the device memory that came to be used while the kernels ran. The ways take
turns, the host engine in the first round only, and a ratio is the median of those of the turns. Where there
is PyTorch, also what its sort takes. Needs an NVIDIA GPU, nvcc and cuvein.

A GPU that nobody uses is shut down and takes a second or two to start again, which would hide what is
measured, so this program keeps a context open all the time.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import re
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import ROOT, build, describe, device, session

RESULTS = ROOT / "benchmarks" / "results" / "launches.json"
KERNELS = {
    "many_launches": "tests/gpu/kernels",
    "unselected": "tests/gpu/kernels",
    "overlap": "tests/gpu/kernels",
    "many_blocks": "tests/gpu/kernels",
    "tiny_launches": "benchmarks/kernels",
}
SORT = ("sum", "sort", "topk")
GOAL_LAUNCHES, GOAL_UNSELECTED = 3.0, 1.05


def measure(
    command: list[str], file: Path, options: list[str] | None, folder: Path
) -> tuple[float, list[float]]:
    """Wall seconds of a run, and the numbers that the program wrote to ``file``."""
    file.unlink(missing_ok=True)
    start = time.monotonic()
    if options is None:
        outcome = session.execute(command)
    else:
        outcome = session.profile(folder, command, *options).outcome
    wall = time.monotonic() - start
    shutil.rmtree(folder, ignore_errors=True)
    if outcome.status not in {0, 120}:
        raise RuntimeError(str(outcome))
    if file.exists():
        return wall, [float(word) for word in file.read_text().split()]
    # The programs that name no file say their numbers in the last line.
    said = outcome.stdout.decode().strip().rpartition("\n")[2]
    return wall, [float(word) for word in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", said)]


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
    command: list[str], file: Path, ways: dict[str, list[str] | None], repetitions: int, folder: Path
) -> dict[str, Any]:
    """Run the ways in turn; medians of wall time, of its ratio to the first way's, and of each number."""
    runs: dict[str, list[tuple[float, list[float]]]] = {way: [] for way in ways}
    for turn in range(repetitions):
        for way, options in ways.items():
            if way != "host" or turn == 0:
                runs[way].append(measure(command, file, options, folder))
    first = [wall for wall, _ in next(iter(runs.values()))]
    return {
        way: {
            "seconds": round(statistics.median(wall for wall, _ in found), 3),
            "least, most": [round(pick(wall for wall, _ in found), 3) for pick in (min, max)],
            "times": round(
                statistics.median(wall / plain for (wall, _), plain in zip(found, first, strict=False)), 2
            ),
            "numbers": [round(statistics.median(row), 3) for row in zip(*(n for _, n in found), strict=True)],
        }
        for way, found in runs.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=10000, help="launches of the tiny kernel")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    gpu = device.find()
    if isinstance(gpu, str):
        print(f"needs a GPU: {gpu}", file=sys.stderr)
        return 2
    keep_gpu_awake()
    sources = [f"{where}/{name}.cu" for name, where in KERNELS.items()]
    built = build.compile_all(sources, ROOT, ROOT / "build" / "gpu" / "programs", gpu.architecture)
    folder = Path(tempfile.mkdtemp(prefix="cuvein-launches-"))
    file = folder / "numbers"
    document: dict[str, Any] = {
        "format": "cuvein launches",
        "version": 1,
        **describe(),
        "repetitions": options.repetitions,
    }

    def add(name: str, what: str, command: list[str], ways: dict[str, list[str] | None]) -> None:
        document[name] = {
            "what": what,
            "command": " ".join([Path(command[0]).name, *command[1:]]).replace(str(file), "FILE"),
            "ways": compare(
                command, file, ways, 1 if name == "operators" else options.repetitions, folder / "out"
            ),
        }
        print(name, json.dumps(document[name]["ways"]), flush=True)
        # What is there is kept if something later fails.
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(document, indent=1) + "\n")

    engines: dict[str, list[str] | None] = {
        "plain": None,
        "gpu": ["--engine", "gpu"],
        "host": ["--engine", "host"],
    }
    add(
        "launches",
        "times: wall time over that of the plain program; numbers: milliseconds of all launches; MiB of "
        "device memory more than before, after a tenth and after all",
        [str(built["many_launches"]), str(file), str(options.count)],
        {**engines, "gpu, merged": ["--engine", "gpu", "--merge-launches"]},
    )
    add(
        "tiny",
        "numbers: microseconds of the first launch, MiB of device memory that came with it; microseconds of "
        "a launch on the GPU's clock alone, in a row; until the host may go on, until all are done, each "
        "waited for",
        [str(built["tiny_launches"])],
        engines,
    )
    add(
        "unselected",
        "numbers: milliseconds of a kernel that is not profiled, another one of its module is",
        [str(built["unselected"]), str(file)],
        {"plain": None, "gpu": ["--engine", "gpu", "--kernel-name", "^light"]},
    )
    add(
        "overlap", "eight kernels at once, each in a stream of its own", [str(built["overlap"]), "8"], engines
    )
    add(
        "many blocks",
        "one launch of 22 million blocks of one warp that works",
        [str(built["many_blocks"])],
        engines,
    )
    if importlib.util.find_spec("torch"):
        operators = [sys.executable, str(ROOT / "benchmarks" / "operators.py"), "--size", "usual"]
        add(
            "operators",
            f"numbers: seconds of PyTorch's {', '.join(SORT)} on 2048 rows, each run twice",
            [*operators, "--times", "2", "--seconds", str(file), *SORT],
            {"gpu": ["--engine", "gpu"]},
        )
    shutil.rmtree(folder, ignore_errors=True)
    launches, unselected = (document[name]["ways"] for name in ("launches", "unselected"))
    times = launches["gpu"]["numbers"][0] / launches["plain"]["numbers"][0]
    slower = unselected["gpu"]["numbers"][0] / unselected["plain"]["numbers"][0]
    print(f"{options.count} launches: {times:.1f} x their time, {launches['gpu']['times']:.2f} x the program")
    print(f"a kernel not profiled: {slower:.3f} x its time")
    print(f"goals: {GOAL_LAUNCHES} x the program, {GOAL_UNSELECTED} x the kernel")
    return 0


if __name__ == "__main__":
    sys.exit(main())
