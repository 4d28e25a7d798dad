"""What ``cuvein run --call-sites`` costs, on a PyTorch program of small operators.

    python benchmarks/call_sites.py [--launches N] [--rounds N] [--results FILE]

Times the same loop plainly, under ``cuvein run`` and under ``cuvein run --call-sites``, with every launch
profiled and with none (``--kernel-name`` that matches nothing), in turn, ``rounds`` times; the medians count.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import machine

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
    for _ in range(launches):
        x = model(x)
    torch.cuda.synchronize()
run()
start = time.perf_counter(); run(); seconds = time.perf_counter() - start
with open(sys.argv[2], "w") as file: json.dump(seconds / launches, file)
"""
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
    parser.add_argument("--launches", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for way, words in WAYS.items():
                seconds[way].append(measured(Path(folder), words, options.launches))
    median = {way: statistics.median(times) for way, times in seconds.items()}
    result: dict[str, Any] = {
        **machine.describe(),
        "launches": options.launches,
        "rounds": options.rounds,
        "microseconds_a_launch": {way: round(time * 1e6, 2) for way, time in median.items()},
        "all": {way: [round(time * 1e6, 2) for time in times] for way, times in seconds.items()},
        "ratio": {
            way: round(median[f"{way}, call sites"] / median[way], 3)
            for way in ("none profiled", "all profiled")
        },
    }
    text = json.dumps(result, indent=1) + "\n"
    if options.results:
        options.results.write_text(text)
    print(text, end="")
    return 0


def measured(folder: Path, words: tuple[str, ...] | None, launches: int) -> float:
    """Run the loop one way; seconds a launch."""
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
    seconds = json.loads(time.read_text())
    assert isinstance(seconds, float)
    return seconds


if __name__ == "__main__":
    sys.exit(main())
