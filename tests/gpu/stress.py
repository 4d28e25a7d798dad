"""Random programs for as long as is asked for: results unchanged, profiles whole, both engines of one mind.

    python tests/gpu/stress.py [--minutes N] [--seed N] [--workers N] [--keep FOLDER]

Prints one line for each fault, and a summary as JSON; exit status 1 when there was a fault. Programs that
showed one are kept, with their profiles.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from harness import build, compare, device, random_program, session  # noqa: E402

from cuvein.profile import LaunchProfile, violations  # noqa: E402


def invariant_part(profile: LaunchProfile) -> tuple[object, ...]:
    """What no schedule can change: nodes, what lanes of one instruction share, first touches."""
    same = sorted(
        (edge.node, edge.bytes, edge.count) for edge in profile.edges if edge.label == "warp_same_inst"
    )
    cold: Counter[str] = Counter()
    for edge in profile.edges:
        if edge.label == "cold":
            cold[profile.nodes[edge.node].space] += edge.bytes
    return profile.launch.kernel.mangled, tuple(profile.nodes), tuple(same), tuple(sorted(cold.items()))


def one(seed: int, folder: Path, counts: Counter[str]) -> list[str]:
    """Make, run and compare one program; returns faults."""
    program = random_program.make(seed)
    folder.mkdir(parents=True)
    source = folder / "random_program.cu"
    source.write_text(program.source)
    gpu = device.find()
    assert not isinstance(gpu, str)
    binary = build.compile_one(source, folder / "program", ROOT / "examples", gpu.architecture)
    plain = session.execute([str(binary)])
    if plain.status != 0:
        return [f"the program itself fails: {plain}"]
    faults = []
    found: dict[str, list[LaunchProfile]] = {}
    for engine in ("host", "gpu"):
        run = session.profile(folder / engine, [str(binary)], engine=engine)
        if (run.outcome.status, run.outcome.stdout) != (plain.status, plain.stdout):
            faults.append(f"{engine}: the result differs: {run.outcome.stdout!r}, {run.outcome}")
            continue
        found[engine] = run.profiles
        if len(run.profiles) != program.launches:
            faults.append(f"{engine}: {len(run.profiles)} profiles of {program.launches} launches")
        for profile in run.profiles:
            where = f"{engine}: launch {profile.launch.sequence}"
            counts[f"{engine} as {profile.engine}"] += 1
            if profile.incomplete:
                faults.append(f"{where}: {profile.incomplete}")
            faults.extend(f"{where}: {violation}" for violation in violations(profile))
        if engine == "gpu":
            for left in run.process.summary.host_engine:
                counts[f"left to the host: {left.reason}"] += left.launches
    if len(found) == 2:
        part = invariant_part if program.variable else compare.graph
        for one_profile, other in zip(found["host"], found["gpu"], strict=False):
            if part(one_profile) != part(other):
                faults.append(f"launch {one_profile.launch.sequence}: the engines differ")
    return faults


def main() -> int:
    """Run the stress; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "gpu" / "stress")
    arguments = parser.parse_args()
    gpu = device.find()
    if isinstance(gpu, str):
        print(f"needs a GPU: {gpu}", file=sys.stderr)
        return 2
    end = time.monotonic() + 60 * arguments.minutes
    counts: Counter[str] = Counter()
    lock = threading.Lock()
    seeds = iter(range(arguments.seed, 1 << 62))
    temporary = Path(tempfile.mkdtemp(prefix="cuvein-stress-"))

    def work() -> None:
        while time.monotonic() < end:
            with lock:
                seed = next(seeds)
            folder = temporary / str(seed)
            mine: Counter[str] = Counter()
            try:
                faults = one(seed, folder, mine)
            except (TimeoutError, RuntimeError) as error:
                faults = [str(error)]
            with lock:
                counts.update(mine)
                counts["programs"] += 1
                counts["faults"] += len(faults)
                for fault in faults[:5]:
                    print(f"seed {seed}: {fault}", flush=True)
            if faults:
                shutil.rmtree(arguments.keep / str(seed), ignore_errors=True)
                shutil.copytree(folder, arguments.keep / str(seed))
            shutil.rmtree(folder, ignore_errors=True)

    with ThreadPoolExecutor(arguments.workers) as pool:
        for done in [pool.submit(work) for _ in range(arguments.workers)]:
            done.result()
    shutil.rmtree(temporary, ignore_errors=True)
    print(json.dumps({"minutes": arguments.minutes, "first seed": arguments.seed, **counts}, indent=1))
    return 1 if counts["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
