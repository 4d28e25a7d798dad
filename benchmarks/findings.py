"""How fast profiles become ranked findings on one core: prints JSON.

Writes launch profiles of a given size, then loads, analyses and ranks them in a fresh process.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from command_line import natural, share
from cuvein.findings import analyse
from cuvein.profile.model import (
    FORMAT,
    VERSION,
    AllocationTraffic,
    Coverage,
    Device,
    Edge,
    Function,
    Kernel,
    Launch,
    LaunchProfile,
    Node,
    Process,
    Versions,
)
from cuvein.profile.writing import encode

LABELS = {
    "global": ("thread", "warp_same_inst", "warp_diff_inst", "block", "grid"),
    "shared": ("thread", "warp_same_inst", "warp_diff_inst", "block"),
    "local": ("thread",),
}
EXECUTIONS = 4096


def histogram(chooser: random.Random, largest: int) -> list[tuple[int, int]]:
    values = sorted(chooser.sample(range(1, largest + 1), chooser.randint(1, 4)))
    counts = [EXECUTIONS // len(values)] * len(values)
    counts[0] += EXECUTIONS - sum(counts)
    return list(zip(values, counts, strict=True))


def node(chooser: random.Random, number: int, space: str, wasteful: bool) -> Node:
    """Make a node: full warps side by side, or anything at all when wasteful."""
    size = chooser.choice((4, 8, 16))
    shared = space == "shared"

    def either(ideal: int, largest: int) -> list[tuple[int, int]]:
        return histogram(chooser, largest) if wasteful else [(ideal, EXECUTIONS)]

    lanes = either(32, 32)
    accessed = sum(value * count for value, count in lanes) * size
    return Node(
        id=number,
        function=0,
        pc=16 * number,
        space=space,
        type=chooser.choice(("read", "read", "write", "atomic" if wasteful else "write")),
        size=size,
        asynchronous=False,
        executions=EXECUTIONS,
        bytes=accessed,
        lanes=lanes,
        addresses=[] if shared else either(32, 32),
        sectors=[] if shared else either(size, 32),
        words=either(8 * size, 32) if shared else [],
        wavefronts=either(size // 4, 8) if shared else [],
        ideal_wavefronts=either(size // 4, 4) if shared else [],
        allocations=[] if shared else [AllocationTraffic(None, accessed)],
    )


def make(chooser: random.Random, nodes: int, sequence: int, kernels: int, wasteful: float) -> LaunchProfile:
    """Make a profile in which groups of eight nodes share an object, each node with three reuse origins."""
    made: list[Node] = []
    edges: list[Edge] = []
    for number in range(nodes):
        group = number // 8
        space = ("global", "shared", "global", "local")[group % 4]
        made.append(node(chooser, number, space, chooser.random() < wasteful))
        first, last = group * 8, min(group * 8 + 8, nodes)
        origins = sorted(chooser.sample(range(first, last), min(3, last - first)))
        part = made[-1].bytes // 4
        edges.append(Edge(number, None, "cold", made[-1].bytes - len(origins) * part, 1))
        edges += [Edge(number, origin, chooser.choice(LABELS[space]), part, 1, None) for origin in origins]
    name = f"kernel_{sequence % kernels}"
    return LaunchProfile(
        format=FORMAT,
        version=VERSION,
        id=f"benchmark-{sequence}",
        engine="host",
        incomplete=None,
        process=Process("benchmark", 1, "/bin/program", [], Versions("0.1.0")),
        launch=Launch(
            sequence=sequence,
            kernel=Kernel(f"{name}(float*)", name),
            grid=(1024, 1, 1),
            block=(256, 1, 1),
            cluster=None,
            shared_bytes=(0, 0),
            device=Device(0, "GPU", (9, 0), 132),
            context=1,
            stream=0,
            functions=[Function(f"{name}(float*)", name, 0, 16 * nodes)],
            allocations=[],
        ),
        coverage=Coverage({"global": nodes * EXECUTIONS}, [], 0, 0),
        nodes=made,
        edges=edges,
    )


def measure(folder: str) -> None:
    start, processor = time.perf_counter(), time.process_time()
    report = analyse(folder)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    print(
        json.dumps(
            {
                "profiles": report.profiles,
                "findings": len(report.findings),
                "seconds": round(seconds, 3),
                "processor_seconds": round(processor, 3),
                "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profiles", type=natural, default=1000)
    parser.add_argument("--nodes", type=natural, default=500)
    parser.add_argument("--kernels", type=natural, default=20, help="distinct kernels among the launches")
    parser.add_argument(
        "--wasteful", type=share, default=0.2, help="share of nodes with random distributions"
    )
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        for sequence in range(1, arguments.profiles + 1):
            chooser = random.Random(sequence % arguments.kernels)
            profile = make(chooser, arguments.nodes, sequence, arguments.kernels, arguments.wasteful)
            Path(folder, f"launch-{sequence:06}.json").write_bytes(encode(profile))
        subprocess.run([sys.executable, __file__, "--measure", folder], check=True)


if __name__ == "__main__":
    main()
