"""What ``cuvein run --call-sites`` costs, on a PyTorch program of small operators.

    python benchmarks/call_sites.py [--launches N] [--rounds N] [--results FILE]

Times the same loop plainly, under ``cuvein run`` and under ``cuvein run --call-sites``, with every launch
profiled and with none (``--kernel-name`` that matches nothing), in turn, ``rounds`` times; the medians count.
``launching`` is how long the loop keeps the host, ``in_all`` until the GPU is done, too.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import machine
from command_line import give_up, natural, new_file

# The call is as deep as in a model: every layer adds a frame or two.
PROGRAM = """
import json, sys, time, torch
class Layer(torch.nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.inner = Layer(depth - 1) if depth else None
    def forward(self, x):
        return self.inner(x) if self.inner else x + 1
launches = int(sys.argv[1])
model, x = Layer(4), torch.ones(1024, device="cuda")
def run():
    global x
    start = time.perf_counter()
    for _ in range(launches):
        x = model(x)
    launched = time.perf_counter()
    torch.cuda.synchronize()
    return [(end - start) / launches for end in (launched, time.perf_counter())]
run()
with open(sys.argv[2], "w") as file: json.dump(run(), file)
"""
KINDS = ("launching", "in_all")
NONE = ("--kernel-name", "^nothing$")
WAYS: dict[str, tuple[str, ...] | None] = {
    "plain": None,
    "none profiled": NONE,
    "none profiled, call sites": (*NONE, "--call-sites"),
    "all profiled": (),
    "all profiled, call sites": ("--call-sites",),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--launches", type=natural, default=300)
    parser.add_argument("--rounds", type=natural, default=3)
    parser.add_argument("--results", type=new_file)
    options = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        give_up(parser, f"{sys.executable} has no torch; PyTorch is needed")
    machine.demand_gpu(parser, compiler=False)
    seconds: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for way, words in WAYS.items():
                seconds[way].append(measured(Path(folder), words, options.launches))
    median = {
        kind: {way: statistics.median(each[position] for each in times) for way, times in seconds.items()}
        for position, kind in enumerate(KINDS)
    }
    result: dict[str, Any] = {
        **machine.describe(),
        "launches": options.launches,
        "rounds": options.rounds,
        "microseconds_a_launch": {
            kind: {way: round(time * 1e6, 2) for way, time in times.items()} for kind, times in median.items()
        },
        "each": {
            way: [[round(time * 1e6, 2) for time in each] for each in times] for way, times in seconds.items()
        },
        "ratio": {
            kind: {
                way: round(times[f"{way}, call sites"] / times[way], 3)
                for way in ("none profiled", "all profiled")
            }
            for kind, times in median.items()
        },
    }
    machine.keep(result, options.results)
    print(json.dumps(result, indent=1))
    return 0


def measured(folder: Path, words: tuple[str, ...] | None, launches: int) -> list[float]:
    """Run the loop one way; seconds a launch, as ``KINDS``."""
    program, time = folder / "program.py", folder / "time.json"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(launches), str(time)]
    if words is not None:
        cuvein = [
            sys.executable,
            "-m",
            "cuvein",
            "run",
            "--quiet",
            "--force",
            "--output",
            str(folder / "out"),
        ]
        command = [*cuvein, *words, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    # 120: nothing was profiled, as it is to be.
    if done.returncode not in (0, 120):
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr[-500:]}")
    return [float(each) for each in json.loads(time.read_text())]


if __name__ == "__main__":
    sys.exit(main())
