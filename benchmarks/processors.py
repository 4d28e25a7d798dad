"""What the machine's processors do when several work at once, whatever cuvein does.

Each yardstick is a short piece of work that one process does for itself: ``compute`` interprets a Python
loop, which stays in the first caches; ``memory`` gathers from random places of a table that no cache holds.
A yardstick's efficiency on *n* processors is its speed there over *n* times its speed on one.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.synchronize import Barrier

__all__ = ["efficiency", "facts", "siblings"]

_TABLE_BYTES = 1 << 27
_GATHERED = 1 << 20
_ROUNDS = 3

Work = tuple["Callable[[], Any]", "Callable[[Any], None]"]  # prepare, do


def _loop(_: object) -> None:
    value = 1
    for _ in range(400_000):
        value = (value * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF


def _table() -> Any:
    table = np.ones(_TABLE_BYTES // 8, np.int64)
    return table, np.random.default_rng(os.getpid()).integers(0, len(table), _GATHERED)


def _gather(prepared: Any) -> None:
    table, places = prepared
    table[places].sum()


_YARDSTICKS: dict[str, Work] = {"compute": (lambda: None, _loop), "memory": (_table, _gather)}


def _member(
    name: str, processor: int | None, barrier: Barrier, results: multiprocessing.Queue[tuple[int, float]]
) -> None:
    if processor is not None:
        os.sched_setaffinity(0, {processor})
    prepare, do = _YARDSTICKS[name]
    prepared = prepare()
    do(prepared)
    for number in range(_ROUNDS):
        barrier.wait()
        started = time.perf_counter()
        do(prepared)
        results.put((number, time.perf_counter() - started))


def _seconds(name: str, processors: Sequence[int | None]) -> float:
    """Mean over those who work at once, of the best round."""
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(len(processors)), context.Queue()
    team = [
        context.Process(target=_member, args=(name, processor, barrier, results)) for processor in processors
    ]
    for member in team:
        member.start()
    sums = [0.0] * _ROUNDS
    for _ in range(len(team) * _ROUNDS):
        number, seconds = results.get()
        sums[number] += seconds / len(team)
    for member in team:
        member.join()
    return min(sums)


def efficiency(name: str, count: int, processors: Sequence[int] | None = None) -> dict[str, Any]:
    """Speed of a yardstick on ``count`` processors; where ``processors`` are given, on those."""
    places: Sequence[int | None] = processors[:count] if processors else [None] * count
    one, many = _seconds(name, places[:1]), _seconds(name, places)
    return {"yardstick": name, "processes": count, "seconds": [one, many], "efficiency": one / many}


def siblings() -> dict[str, float]:
    """How fast two processors compute at once, for some pairs; far less than 1 tells of one core's threads.

    The keys are pairs of processors, the values the speed of each over the speed of one alone.
    """
    have = sorted(os.sched_getaffinity(0))
    pairs = {(have[0], other) for other in {*have[1:3], *have[1:][len(have) // 2 - 1 :][:1]}}
    one = _seconds("compute", have[:1])
    return {f"{a},{b}": one / _seconds("compute", (a, b)) for a, b in sorted(pairs)}


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def facts() -> dict[str, Any]:
    """What the system says of its processors."""
    nodes = sorted(Path("/sys/devices/system/node").glob("node[0-9]*/cpulist"))
    caches = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index[0-9]"))
    return {
        "processors": os.cpu_count(),
        "allowed": len(os.sched_getaffinity(0)),
        "threads_of_core_0": _text("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"),
        "nodes": [path.read_text().strip() for path in nodes],
        "caches": [
            " ".join(_text(f"{path}/{name}") or "?" for name in ("level", "type", "size", "shared_cpu_list"))
            for path in caches
        ],
        "cpu.max": _text("/sys/fs/cgroup/cpu.max") or _text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
        "load": os.getloadavg(),
        "huge_pages": _text("/sys/kernel/mm/transparent_hugepage/enabled"),
    }
