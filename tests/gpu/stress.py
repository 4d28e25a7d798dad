"""Random programs for as long as is asked for: results unchanged, profiles whole, both engines of one mind.

    python tests/gpu/stress.py [--minutes N] [--seed N] [--workers N] [--runs N] [--keep FOLDER]
                                [--output FILE]

Each program runs on the host engine once and on the GPU engine ``--runs`` times, and once more to be killed
on the way; what that leaves has to be whole, too. Prints one line for each fault, and a summary as JSON; exit
status 1 when there was a fault. Programs that showed one are kept, with their profiles. ``--output`` writes
the summary after each program; told to end (SIGTERM), no further program is begun.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from harness import build, compare, device, random_program, session  # noqa: E402

from cuvein.profile import LaunchProfile, find, read, violations  # noqa: E402
from cuvein.profile.writing import replace_file  # noqa: E402


def invariant_part(profile: LaunchProfile) -> tuple[object, ...]:
    """What no schedule can change: nodes, what lanes of one instruction share, first touches."""
    same = sorted(
        (edge.node, edge.bytes, edge.count) for edge in profile.edges if edge.label == "warp_same_inst"
    )
    cold: Counter[str] = Counter()
    for edge in profile.edges:
        if edge.label == "cold":
            cold[profile.nodes[edge.node].space] += edge.bytes
    kernel = profile.launch.kernel.mangled
    return kernel, compare.nodes(profile), same, sorted(cold.items())


def examine(profile: LaunchProfile, where: str) -> list[str]:
    """Faults that show in the profile alone."""
    faults = [f"{where}: {profile.incomplete}"] if profile.incomplete else []
    return faults + [f"{where}: {violation}" for violation in violations(profile)]


def killed(binary: Path, folder: Path, after: float, counts: Counter[str]) -> dict[int, LaunchProfile]:
    """Kill the program after so many seconds; returns its profiles by the sequence of their launch."""
    command = [*session.CUVEIN, "run", "--output", str(folder), "--engine", "gpu", "--", str(binary)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        time.sleep(after)
        counts["killed before its end"] += process.poll() is None
        with contextlib.suppress(ProcessLookupError):  # it has ended, and so has what it started
            os.killpg(process.pid, signal.SIGKILL)
    folders = [each for each in folder.glob("process-*") if any(each.glob("launch-*"))]
    left = [read(path) for each in folders for path in find(each)]
    counts["profiles of killed programs"] += len(left)
    return {profile.launch.sequence: profile for profile in left}


def one(seed: int, folder: Path, runs: int, counts: Counter[str]) -> list[str]:
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
    part = invariant_part if program.variable else compare.graph
    faults = []
    expected: dict[int, object] = {}
    barriers: dict[int, object] = {}
    seconds = 0.0
    for number in range(1 + runs):
        engine = "gpu" if number else "host"
        name = f"{engine}-{number}"
        start = time.monotonic()
        # The host engine always follows what barriers order, the GPU engine here every other time.
        follows = number % 2 == 1
        options = ("--barrier-order", "on") if follows else ()
        run = session.profile(folder / name, [str(binary)], *options, engine=engine)
        seconds = time.monotonic() - start
        if (run.outcome.status, run.outcome.stdout) != (plain.status, plain.stdout):
            faults.append(f"{name}: the result differs: {run.outcome.stdout!r}, {run.outcome}")
            continue
        if len(run.profiles) != program.launches:
            faults.append(f"{name}: {len(run.profiles)} profiles of {program.launches} launches")
        faults += [f"{name}: {sentence}" for sentence in run.process.summary.problems]
        for profile in run.profiles:
            where = f"{name}: launch {profile.launch.sequence}"
            counts[f"{engine} as {profile.engine}"] += 1
            faults += examine(profile, where)
            if part(profile) != expected.setdefault(profile.launch.sequence, part(profile)):
                faults.append(f"{where}: not the graph that the host engine found")
            if (number == 0 or follows) and not program.variable:
                counts["launches whose barriers were compared"] += number != 0
                if profile.barriers != barriers.setdefault(profile.launch.sequence, profile.barriers):
                    faults.append(f"{where}: barriers have not ordered what they have for the host engine")
        if engine == "gpu":
            for left in run.process.summary.host_engine:
                counts[f"left to the host: {left.reason}"] += left.launches
    # Most of the time goes into starting.
    moment = random.Random(seed).uniform(0.3, 1) * seconds
    for sequence, profile in killed(binary, folder / "killed", moment, counts).items():
        where = f"killed: launch {sequence}"
        faults += examine(profile, where)
        if part(profile) != expected.get(sequence):
            faults.append(f"{where}: not the graph that the host engine found")
    return faults


def main() -> int:
    """Run the stress; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3, help="of each program on the GPU engine")
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "gpu" / "stress")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the summary, after each program")
    arguments = parser.parse_args()
    gpu = device.find()
    if isinstance(gpu, str):
        print(f"needs a GPU: {gpu}", file=sys.stderr)
        return 2
    begin = time.monotonic()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    counts: Counter[str] = Counter()
    lock = threading.Lock()
    seeds = iter(range(arguments.seed, 1 << 62))
    temporary = Path(tempfile.mkdtemp(prefix="cuvein-stress-"))

    def summary() -> str:
        minutes = round((time.monotonic() - begin) / 60, 2)
        head = {"first seed": arguments.seed, "minutes": minutes, "workers": arguments.workers}
        return json.dumps(head | {"commit": os.environ.get("CUVEIN_COMMIT")} | counts, indent=1)

    def work() -> None:
        while not stop.is_set() and time.monotonic() - begin < 60 * arguments.minutes:
            with lock:
                seed = next(seeds)
            folder = temporary / str(seed)
            mine: Counter[str] = Counter()
            try:
                faults = one(seed, folder, arguments.runs, mine)
            except Exception as error:  # whatever it is, it is a fault, and others go on
                faults = [f"{type(error).__name__}: {error}"]
            with lock:
                counts.update(mine)
                counts["programs"] += 1
                counts["faults"] += len(faults)
                for fault in faults[:5]:
                    print(f"seed {seed}: {fault}", flush=True)
                if arguments.output:
                    replace_file(f"{summary()}\n".encode(), arguments.output)
            if faults:
                shutil.rmtree(arguments.keep / str(seed), ignore_errors=True)
                shutil.copytree(folder, arguments.keep / str(seed))
            shutil.rmtree(folder, ignore_errors=True)

    with ThreadPoolExecutor(arguments.workers) as pool:
        running = [pool.submit(work) for _ in range(arguments.workers)]
        # A signal that another thread takes is seen to when this one wakes up.
        while wait(running, timeout=1).not_done:
            pass
        for done in running:
            done.result()
    shutil.rmtree(temporary, ignore_errors=True)
    print(summary())
    return 1 if counts["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
