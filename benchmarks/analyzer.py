"""How many warp-level accesses a second the host engine analyses: prints JSON.

The streams are made beforehand, their working sets are larger than the caches. One worker runs on one
processor together with the thread that feeds it, two workers on two. The repetitions are launches of one
engine: the first also maps the shadow memory and is given apart, of the others the best counts.
``records_per_second`` is by the clock on the wall, which counts what else runs on the machine;
``records_per_cpu_second`` is by the processor time of this process.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from command_line import natural, new_file, whole
from cuvein.collect.configuration import MOST_WORKERS
from cuvein.native import Engine
from cuvein.profile import decode
from cuvein.trace.builder import make_launch, make_process
from machine import describe, keep
from streams import BASE, WARPS_OF_A_BLOCK, coalesced, scattered, shared

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

# Handed over at a time, about as much as a ring's reader takes.
PIECE_BYTES = 1 << 20


def measure(
    stream: npt.NDArray[Any], workers: int, processors: list[int], repetitions: int
) -> dict[str, Any]:
    """Time a stream; the best of the repetitions."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    data = memoryview(stream.view(np.uint8).reshape(-1).data)
    record_bytes = stream.dtype.itemsize
    step = PIECE_BYTES // record_bytes * record_bytes
    pieces = [data[first : first + step] for first in range(0, len(data), step)]
    launch = make_launch(
        grid=(1 << 22, 1, 1), block=(32 * WARPS_OF_A_BLOCK, 1, 1), allocations=[(BASE, 1 << 40)]
    )
    process, shape = msgspec.json.encode(make_process()), msgspec.json.encode(launch)
    wall, cpu = [], []
    try:
        with Engine(process, workers=workers) as engine:
            for _ in range(repetitions + 1):
                started, used = time.perf_counter(), time.process_time()
                engine.begin(shape)
                for piece in pieces:
                    engine.consume(piece)
                profile = decode(engine.end(1))
                wall.append(time.perf_counter() - started)
                cpu.append(time.process_time() - used)
    finally:
        os.sched_setaffinity(0, allowed)
    assert sum(node.executions for node in profile.nodes) == sum(profile.coverage.accesses.values()) > 0
    return {
        "workers": workers,
        "records": len(stream),
        "records_per_second": round(len(stream) / min(wall[1:])),
        "records_per_second_and_core": round(len(stream) / min(wall[1:]) / len(processors)),
        "records_per_cpu_second": round(len(stream) / min(cpu[1:])),
        "first_launch_records_per_second": round(len(stream) / wall[0]),
        "first_launch_records_per_cpu_second": round(len(stream) / cpu[0]),
    }


def main() -> None:
    """Run all streams with one worker and, where there are two processors, with two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=whole(1000), default=4_000_000, help="of the longest stream")
    parser.add_argument("--repetitions", type=natural, default=5)
    parser.add_argument("--workers", type=whole(1, MOST_WORKERS), nargs="+", help="default: 1 and 2")
    parser.add_argument("--output", type=new_file, help="write the JSON to this file too")
    arguments = parser.parse_args()
    processors = sorted(os.sched_getaffinity(0))
    counts = arguments.workers or [count for count in (1, 2) if count <= len(processors)]
    records: int = arguments.records
    results = []
    streams: list[tuple[str, int, Callable[[], npt.NDArray[Any]]]] = [
        ("coalesced, 4 bytes", records // 2 * 128, lambda: coalesced(records, 4)),
        ("coalesced, 16 bytes", records // 4 * 512, lambda: coalesced(records // 2, 16)),
        ("random, 4 bytes", 1 << 27, lambda: scattered(records // 4, 4, 1 << 27)),
        ("random, 16 bytes", 1 << 27, lambda: scattered(records // 4, 16, 1 << 27)),
        ("shared memory with barriers", 0, lambda: shared(records // 2)),
    ]
    for name, working_set, make in streams:
        stream = make()
        for workers in counts:
            print(f"{name}, {workers} worker(s) ...", file=sys.stderr)
            measured = measure(stream, workers, processors[:workers], arguments.repetitions)
            results.append({"stream": name, "working_set_bytes": working_set, **measured})
        del stream
    machine = describe()
    document = {
        "benchmark": "analyzer",
        "date": machine["date"],
        "commit": machine["commit"],
        "cpu": machine["cpu"],
        "processors": len(processors),
        "load_average": os.getloadavg()[0],
        "results": results,
    }
    keep(document, arguments.output)
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
