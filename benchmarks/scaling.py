"""How the cost of the analysis grows: the host engine's with its workers, the GPU engine's with the kernel.

``--engine host`` (the default) analyses two made-up traces, one of mostly global and one of mostly shared
memory, with 1, 2, 4, ... workers. Goal: at least 85 % efficiency at 16, that is 13.6 times the speed of one.
Both ways in are timed: records from memory, as the monitor hands them over, and the file of
``cuvein run --trace``, as ``cuvein analyze`` reads it. To tell the engine's share of what is lost from the
machine's, as many engines of one worker run side by side, each a process that shares nothing with the others:
the efficiency is told against one worker and against these.
``--explain`` also says what workers and the thread that hands over spend their time on, and what the
processors do without cuvein.

``--engine gpu`` runs a kernel of growing grid and of growing length under ``cuvein run --engine gpu`` and
fits a line. Needs a GPU and nvcc.

Prints a table, says where a goal is missed and writes what was measured into one file, each engine into its
own part.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

import gpu_scaling
import processors
from command_line import added_to, natural, whole
from cuvein.collect.configuration import MOST_WORKERS
from cuvein.native import Engine, TraceReader, TraceWriter, replay
from cuvein.profile import decode
from cuvein.trace.builder import make_launch, make_process
from machine import ROOT, demand_gpu, describe
from machine import keep as write
from streams import BASE, WARPS_OF_A_BLOCK, global_heavy, shared_heavy

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.synchronize import Barrier

    import numpy.typing as npt

GOAL = 0.85
STEPS = ("decode", "by_block", "by_address")
# Handed over at a time, about as much as a ring's reader takes.
PIECE_BYTES = 1 << 20
RESULTS = ROOT / "benchmarks" / "results" / "scaling.json"


def pieces_of(stream: npt.NDArray[Any]) -> list[memoryview]:
    """Cut a stream at records."""
    data = memoryview(stream.view(np.uint8).reshape(-1).data)
    step = max(1, PIECE_BYTES // stream.dtype.itemsize) * stream.dtype.itemsize
    return [data[first : first + step] for first in range(0, len(data), step)]


def documents() -> tuple[bytes, bytes]:
    """Process and launch that the streams belong to."""
    launch = make_launch(
        grid=(1 << 22, 1, 1), block=(32 * WARPS_OF_A_BLOCK, 1, 1), allocations=[(BASE, 1 << 40)]
    )
    return msgspec.json.encode(make_process()), msgspec.json.encode(launch)


def from_memory(stream: npt.NDArray[Any], records: int, workers: int, repetitions: int) -> dict[str, Any]:
    """Time launches of one engine; the first, which maps the shadow memory, does not count."""
    pieces = pieces_of(stream)
    process, shape = documents()
    best: dict[str, Any] = {}
    with Engine(process, workers=workers) as engine:
        for repetition in range(repetitions + 1):
            before = engine.times()
            started, used, fed = time.perf_counter(), time.process_time(), time.thread_time()
            engine.begin(shape)
            for piece in pieces:
                engine.consume(piece)
            handed_over = time.perf_counter()
            profile = engine.end(1)
            ended = time.perf_counter()
            wall, feeding = ended - started, time.thread_time() - fed
            working = time.process_time() - used - feeding
            after = engine.times()
            if repetition and (not best or wall < best["seconds"]):
                best = {
                    "workers": workers,
                    "records_per_second": round(records / wall),
                    "seconds": wall,
                    "seconds_at_end": ended - handed_over,
                    # Of processors: the thread that hands over, all workers together.
                    "feeder_seconds": feeding,
                    "worker_seconds": working,
                    "worker_idle": 1 - working / (workers * wall),
                    **spent(before, after),
                }
    graph = decode(profile)
    assert sum(node.executions for node in graph.nodes) == sum(graph.coverage.accesses.values()) > 0
    return best


def spent(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What an engine has spent its time on between two looks at it: seconds of the caller, of all workers.

    ``busy_seconds``: of the worker with the least to do, and of the one with the most.
    """

    def between(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
        return {name: seconds - before[name] for name, seconds in after.items()}

    workers = list(map(between, before["workers"], after["workers"]))
    busy = [sum(worker[step] for step in STEPS) for worker in workers]
    return {
        "caller": between(before["caller"], after["caller"]),
        "all_workers": {name: sum(worker[name] for worker in workers) for name in workers[0]},
        "busy_seconds": [min(busy), max(busy)],
    }


def from_file(path: Path, records: int, workers: int, repetitions: int) -> float:
    """Records a second when the trace is read as well."""
    seconds = []
    for _ in range(repetitions):
        started = time.perf_counter()
        replay(path, lambda _: None, workers=workers)
        seconds.append(time.perf_counter() - started)
    return records / min(seconds)


def reading_only(path: Path, records: int) -> float:
    """Records a second that come out of the file."""
    started = time.perf_counter()
    with TraceReader(path) as reader:
        for _ in reader:
            pass
    return records / (time.perf_counter() - started)


def _alone(
    stream: npt.NDArray[Any],
    repetitions: int,
    barrier: Barrier,
    results: multiprocessing.Queue[tuple[int, float]],
) -> None:
    pieces = pieces_of(stream)
    process, shape = documents()
    with Engine(process, workers=1) as engine:
        for repetition in range(repetitions + 1):
            barrier.wait()
            started = time.perf_counter()
            engine.begin(shape)
            for piece in pieces:
                engine.consume(piece)
            engine.end(1)
            barrier.wait()  # all have ended: what runs last does not run alone
            if repetition:
                results.put((repetition, time.perf_counter() - started))


def side_by_side(stream: npt.NDArray[Any], records: int, processes: int, repetitions: int) -> float:
    """Records a second of so many engines of one worker that share nothing, all together."""
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(processes), context.Queue()
    team = [
        context.Process(target=_alone, args=(stream, repetitions, barrier, results)) for _ in range(processes)
    ]
    for member in team:
        member.start()
    slowest = [0.0] * (repetitions + 1)
    for _ in range(processes * repetitions):
        repetition, seconds = results.get()
        slowest[repetition] = max(slowest[repetition], seconds)
    for member in team:
        member.join()
    return records * processes / min(slowest[1:])


def write_trace(stream: npt.NDArray[Any], path: Path) -> None:
    """Record a stream as the monitor would."""
    process, shape = documents()
    with TraceWriter(path, process) as writer:
        writer.begin(shape)
        for piece in pieces_of(stream):
            writer.records(piece)
        writer.end(1)


def host(arguments: argparse.Namespace, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure the host engine; ``keep`` is given what there is after each row: the next may be cut off."""
    have = len(os.sched_getaffinity(0))
    counts = arguments.workers or [count for count in (1, 2, 4, 8, 16) if count <= have]
    if 1 not in counts:
        counts = [1, *counts]
    result: dict[str, Any] = {
        "goal": f"at least {GOAL:.0%} efficiency at 16 workers",
        "threads_per_core": threads_per_core(),
        "traces": [],
    }
    makers: list[tuple[str, Callable[[], tuple[npt.NDArray[Any], int]]]] = [
        ("global", lambda: ((made := global_heavy(arguments.records)), len(made) * 8)),
        # Twice as many: a record of shared memory takes less than half the time.
        ("shared", lambda: ((made := shared_heavy(2 * arguments.records)), len(made))),
    ]
    for name, make in makers:
        stream, records = make()
        trace: dict[str, Any] = {"trace": name, "records": records, "record_bytes": stream.nbytes}
        rows: list[dict[str, Any]] = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.cvt"
            write_trace(stream, path)
            trace["file_bytes"] = path.stat().st_size
            trace["reader_records_per_second"] = round(reading_only(path, records))
            result["traces"].append(trace)
            for count in counts:
                print(f"{name}, {count} worker(s) ...", file=sys.stderr)
                row = from_memory(stream, records, count, arguments.repetitions)
                row["file_records_per_second"] = round(from_file(path, records, count, 2))
                if count > 1:
                    print(f"{name}, {count} engines side by side ...", file=sys.stderr)
                    apart = side_by_side(stream, records, count, max(1, arguments.repetitions - 1))
                    row["apart_records_per_second"] = round(apart)
                rows.append(row)
                conclude(trace, rows, [rows[0]["records_per_second"]])
                keep(result)
        # Once more: what one processor does depends on what the others do for somebody else meanwhile.
        again = from_memory(stream, records, 1, arguments.repetitions)
        ones = sorted([rows[0]["records_per_second"], again["records_per_second"]])
        if again["seconds"] < rows[0]["seconds"]:
            rows[0].update(again)
        conclude(trace, rows, ones)
        del stream
        keep(result)
    return result


def conclude(trace: dict[str, Any], rows: list[dict[str, Any]], ones: list[float]) -> None:
    """Add efficiencies to the rows of a trace and the rows to it; ``ones``: the speeds of one worker."""
    base = rows[0]
    for row in rows:
        whole = base["records_per_second"] * row["workers"]
        row["efficiency"] = row["records_per_second"] / whole
        row["file_efficiency"] = (
            row["file_records_per_second"] / base["file_records_per_second"] / row["workers"]
        )
        if "apart_records_per_second" in row:
            row["apart_efficiency"] = row["apart_records_per_second"] / whole
            row["of_apart"] = row["records_per_second"] / row["apart_records_per_second"]
    trace["one_worker_records_per_second"] = ones
    trace["workers"] = rows
    trace["side_by_side"] = {
        "engines": rows[-1]["workers"],
        "records_per_second": rows[-1].get("apart_records_per_second", ones[-1]),
        "efficiency": rows[-1].get("apart_efficiency", 1.0),
    }


def about_processors(count: int) -> dict[str, Any]:
    """What the processors are and do without cuvein."""
    return {
        **processors.facts(),
        "siblings": processors.siblings(),
        **{name: processors.efficiency(name, count)["efficiency"] for name in ("compute", "memory")},
    }


def threads_per_core() -> int | None:
    """Return how many processors share a core."""
    path = Path("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    bounds = [[int(bound) for bound in part.split("-")] for part in text.split(",")]
    return sum(part[-1] - part[0] + 1 for part in bounds)


def lost(row: dict[str, Any], base: dict[str, Any]) -> dict[str, float]:
    """Where the time of all workers goes, as shares of it; they add up to 1.

    ``useful`` is what one worker alone takes for the same steps, ``slower`` what the steps take longer.
    """
    whole = row["workers"] * row["seconds"]
    all_workers = row["all_workers"]
    steps = sum(all_workers[name] for name in STEPS)
    alone = sum(base["all_workers"][name] for name in STEPS)
    shares = {"useful": alone / whole, "slower": (steps - alone) / whole}
    for name in ("cleaning", "checking", "waiting", "starved"):
        shares[name] = all_workers[name] / whole
    return {**shares, "rest": 1 - sum(shares.values())}


def explain(result: dict[str, Any]) -> None:
    """Print where the time goes."""
    print("\nshares of the workers' time; least and most that one of them works; shares of the caller's time")
    for trace in result["traces"]:
        base = trace["workers"][0]
        for row in trace["workers"]:
            wall, each = row["seconds"], 1e9 / trace["records"]
            shares = " ".join(f"{name} {share:.1%}" for name, share in lost(row, base).items())
            steps = " ".join(f"{name} {row['all_workers'][name] * each:.0f}" for name in STEPS)
            least, most = (seconds / wall for seconds in row["busy_seconds"])
            caller = " ".join(f"{name} {seconds / wall:.1%}" for name, seconds in row["caller"].items())
            print(
                f"{trace['trace']:8} {row['workers']:7}  {shares}\n{'':18}ns a record: {steps};"
                f" busy {least:.0%} to {most:.0%}; caller: {caller}"
            )
        low, high = (speed / 1e6 for speed in trace["one_worker_records_per_second"])
        print(f"{trace['trace']:8} one worker, measured twice: {low:.2f} and {high:.2f} million records/s")
    for name, value in result.get("processors", {}).items():
        print(f"{name}: {value}")


def show_host(result: dict[str, Any]) -> None:
    """Print the table, and what is missed."""
    print("host engine: million records a second (efficiency)")
    print(
        f"{'trace':8} {'workers':>7} {'from memory':>16} {'from file':>16} {'idle':>6} {'ns/record':>10}"
        f" {'feeding':>8} {'engines apart':>15} {'of them':>8}"
    )
    missed = []
    for trace in result["traces"]:
        for row in trace["workers"]:
            each = 1e9 / trace["records"]
            print(
                f"{trace['trace']:8} {row['workers']:7}"
                f" {row['records_per_second'] / 1e6:8.2f} ({row['efficiency']:4.0%})"
                f" {row['file_records_per_second'] / 1e6:8.2f} ({row['file_efficiency']:4.0%})"
                f" {row['worker_idle']:6.1%} {row['worker_seconds'] * each:10.1f}"
                f" {row['feeder_seconds'] * each:8.1f}"
                + (
                    f" {row['apart_records_per_second'] / 1e6:8.2f} ({row['apart_efficiency']:4.0%})"
                    f" {row['of_apart']:7.0%}"
                    if "apart_efficiency" in row
                    else ""
                )
            )
            if row["workers"] == 16 and row["efficiency"] < GOAL:
                missed.append(
                    f"the {trace['trace']} trace with 16 workers: {row['efficiency']:.0%}, not {GOAL:.0%}"
                    + (f" ({row['of_apart']:.0%} of 16 engines apart)" if "of_apart" in row else "")
                )
        print(f"{trace['trace']:8} reading only {trace['reader_records_per_second'] / 1e6:8.2f}")
    if not any(row["workers"] == 16 for trace in result["traces"] for row in trace["workers"]):
        print(f"The goal, {result['goal']}, is not judged: 16 workers were not measured.")
    for sentence in missed:
        print(f"Goal missed: {sentence}.")


def main() -> None:
    """Measure, print the table, write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--engine", choices=("host", "gpu"), default="host")
    parser.add_argument("--records", type=whole(1000), default=8_000_000, help="records of a trace")
    parser.add_argument("--repetitions", type=natural, default=3)
    parser.add_argument(
        "--workers",
        type=whole(1, MOST_WORKERS),
        nargs="+",
        help="default: 1, 2, 4, 8, 16, no more than processors",
    )
    parser.add_argument("--explain", action="store_true", help="say where the time goes")
    parser.add_argument("--output", type=added_to, help="default without --workers: results/scaling.json")
    arguments = parser.parse_args()
    # A row measured again is to be looked at; it does not take the place of the table.
    output = arguments.output or (None if arguments.workers else RESULTS)

    def keep(result: dict[str, Any]) -> None:
        if output is not None:
            whole = json.loads(output.read_text()) if output.exists() else {}
            whole = {"benchmark": "scaling", **whole, arguments.engine: {"machine": describe(), **result}}
            write(whole, output)

    if arguments.engine == "host":
        result = host(arguments, keep)
        if arguments.explain:
            result["processors"] = about_processors(result["traces"][0]["workers"][-1]["workers"])
        show_host(result)
        if arguments.explain:
            explain(result)
    else:
        result = gpu_scaling.measure(demand_gpu(parser), arguments.repetitions)
        gpu_scaling.show(result)
    keep(result)


if __name__ == "__main__":
    main()
