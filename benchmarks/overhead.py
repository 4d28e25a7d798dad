"""What whole programs cost under cuvein: wall time against the program alone; prints a table, writes JSON.

    python benchmarks/overhead.py [--sources FOLDER] [--repetitions N] [--output FILE] [WHAT ...]
    python benchmarks/overhead.py --again FILE...

Each program runs plainly, under ``cuvein run`` with the GPU engine, with the host engine, with a selection
that no kernel matches, and with callbacks that return at once: what instrumentation costs whatever it does,
here without the launcher. cuvein is in an environment of its own (see ``own_environment.py``). Otherwise all
launches are profiled, nothing is sampled. The median of the repetitions counts; ways of running take turns,
so that a change of the machine's mood hits all, those but the first two every other time. A context is open
all the time, so that the GPU is awake. WHAT is a group or one program of it (``rodinia``, ``rodinia/bfs``);
default: all. Needs an NVIDIA GPU, nvcc and cuvein. Missed goals are named and do not change the exit status,
which is 1 when a program failed. ``--again`` takes results together and needs nothing else.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import json
import math
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import floor
import own_environment
import programs
import subjects
from command_line import demand_known, duration, kept, natural, new_file
from launches import keep_gpu_awake
from machine import ROOT, demand_gpu, describe, keep, session

if TYPE_CHECKING:
    from subjects import Subject

RESULTS = ROOT / "benchmarks" / "results" / "overhead.json"
GROUPS = ("rodinia", "xsbench", "llm.c", "torch", "triton")
GOAL_MEDIAN, GOAL_MOST = 1.5, 4.0
# The ways of running, and the options of `cuvein run`; an expression that matches no name of a kernel.
WAYS: dict[str, list[str] | None] = {
    "plain": None,
    "gpu": ["--engine", "gpu"],
    "host": ["--engine", "host"],
    "unselected": ["--kernel-name", "^no such kernel$"],
    "empty": [],
}
NOTHING_PROFILED = 120


class RunError(Exception):
    """A run did not end as it should; the message says how."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("what", nargs="*", metavar="WHAT")
    parser.add_argument("--sources", type=Path, help="sources of the programs, instead of cloning them")
    parser.add_argument("--work", type=Path, default=programs.OUTPUT, help="where programs are built")
    parser.add_argument("--repetitions", type=natural, default=3)
    parser.add_argument("--limit", type=duration, default=60, help="seconds after which a run is given up")
    parser.add_argument(
        "--each", type=duration, default=math.inf, help="seconds after which a program is not repeated"
    )
    parser.add_argument("--budget", type=duration, help="seconds after which no further program is begun")
    parser.add_argument("--way", action="append", choices=list(WAYS)[1:], help="default: all")
    parser.add_argument("--add", action="store_true", help="keep the other programs in the output file")
    parser.add_argument(
        "--output", type=new_file, metavar="FILE", help="JSON; default with all: results/overhead.json"
    )
    parser.add_argument(
        "--again",
        type=kept("name", "seconds", "failures", "seen"),
        nargs="+",
        metavar="FILE",
        help="take results together",
    )
    options = parser.parse_args()
    output = options.output or (RESULTS if options.add or not options.what else None)
    options.what = options.what or list(GROUPS)
    demand_known(parser, {what.split("/")[0] for what in options.what}, subjects.GROUPS)
    if options.again:
        return conclude(output, *together(options.again))
    demand_gpu(parser, compiler=subjects.need_compiler(options.what))
    own_environment.use()
    sources = options.sources.absolute() if options.sources else None
    found, failed = subjects.find(options.what, "usual", sources=sources, output=options.work.absolute())
    ways = ["plain", *(options.way or list(WAYS)[1:])]
    machine = describe()
    begin = time.monotonic()

    def head() -> dict[str, Any]:
        return {"machine": machine, "seconds": round(time.monotonic() - begin, 1)}

    rows: list[dict[str, Any]] = []
    names = {subject.name for subject in found}
    if options.add and output and output.exists():
        before = json.loads(output.read_text())
        rows = [row for row in before["programs"] if row["name"] not in names]
        failed = [*map(RunError, before["failed"]), *failed]
    print(f"{'program':30} {'plain':>8} " + " ".join(f"{way:>17}" for way in ways[1:]))
    keep_gpu_awake()
    for subject in found:
        if options.budget and time.monotonic() - begin > options.budget:
            failed.append(RunError(f"{subject.name}: not begun, since the time given was used up"))
            continue
        rows.append(measure(subject, ways, options.repetitions, options.limit, options.each))
        print(line(rows[-1], ways), flush=True)
        write(output, head(), rows, failed)
    # What was not begun has to be told, too.
    return conclude(output, head(), rows, failed)


def conclude(
    output: Path | None, head: dict[str, Any], rows: list[dict[str, Any]], failed: list[Exception]
) -> int:
    """Write the result, say what failed and which goals are missed; return the exit status."""
    write(output, head, rows, failed)
    for error in failed:
        print(error, file=sys.stderr)
    for sentence in judge(rows):
        print(sentence)
    return 1 if failed or any(row["failures"] for row in rows) else 0


def together(results: list[dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]], list[Exception]]:
    """Take several results as one, on the machine of the last.

    Times of a program at one commit are put together. Of several commits the last that ran it with the GPU
    engine has the word, and its rows name the commit where it is not that of the last result; what only an
    earlier commit ran stays beside it as ``earlier``.
    """
    last = results[-1]["machine"]["commit"]
    rows: dict[str, dict[str, Any]] = {}
    failed: dict[str, str] = {}
    for result in results:
        failed |= {text.split(":")[0]: text for text in result["failed"]}
        for row in result["programs"]:
            commit = row.get("commit", result["machine"]["commit"])
            known = rows.get(row["name"])
            if known and known["commit"] == commit:
                for key in ("failures", "seen"):
                    known[key] |= row[key]
                for way, seconds in row["seconds"].items():
                    known["seconds"][way] = known["seconds"].get(way, []) + seconds
            elif not known or "gpu" in row["seconds"] or "gpu" not in known["seconds"]:
                rows[row["name"]] = {**row, "commit": commit}
                if known:
                    rows[row["name"]]["earlier"] = left_over(known) | row.get("earlier", {})
    done = list(rows.values())
    for row in done:
        row["failures"] = {way: why for way, why in row["failures"].items() if not row["seconds"].get(way)}
        row["ratio"] = ratios(row["seconds"])
        earlier = {way: run for way, run in row.get("earlier", {}).items() if way not in row["ratio"]}
        row.pop("earlier", None)
        if earlier:
            row["earlier"] = earlier
        if row["commit"] == last:
            del row["commit"]
    head = {
        "machine": results[-1]["machine"],
        "seconds": round(sum(result["seconds"] for result in results), 1),
    }
    return head, done, [RunError(text) for name, text in failed.items() if name not in rows]


def left_over(row: dict[str, Any]) -> dict[str, Any]:
    """What a row has of ways other than the GPU engine, with its commit, for one that takes its place."""
    kept = {
        way: {"commit": row["commit"], "seconds": row["seconds"][way], "ratio": ratio}
        for way, ratio in ratios(row["seconds"]).items()
        if way != "gpu"
    }
    failed = {
        way: {"commit": row["commit"], "failure": why}
        for way, why in row["failures"].items()
        if way not in {"plain", "gpu"}
    }
    return {**row.get("earlier", {}), **failed, **kept}


def ratios(seconds: dict[str, list[float]]) -> dict[str, float]:
    """Compare the medians of all ways with that of the plain runs."""
    plain = seconds.get("plain")
    return {
        way: round(statistics.median(taken) / statistics.median(plain), 3)
        for way, taken in seconds.items()
        if way != "plain" and taken and plain
    }


def write(
    file: Path | None, head: dict[str, Any], rows: list[dict[str, Any]], failed: list[Exception]
) -> None:
    """Write what there is so far, where it is wanted."""
    document = {
        "format": "cuvein overhead",
        "version": 1,
        **head,
        "goal": {"median": GOAL_MEDIAN, "most": GOAL_MOST},
        "summary": summary(rows),
        "failed": [str(error) for error in failed],
        "programs": rows,
    }
    keep(document, file)


def measure(
    subject: Subject, ways: list[str], repetitions: int, limit: float, each: float = math.inf
) -> dict[str, Any]:
    """Run one program in all ways, each as often as asked, in turns; a way that fails is not tried again.

    ``each``: seconds after which no further turn is begun.
    """
    begin = time.monotonic()
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    failures: dict[str, str] = {}
    seen: dict[str, Any] = {}
    for turn in range(repetitions):
        if time.monotonic() - begin > each:
            break
        for way in ways:
            if way in failures or (turn % 2 and way not in {"plain", "gpu"}):
                continue
            try:
                taken, what = run_once(subject, way, limit)
            except RunError as error:
                failures[way] = str(error)
                continue
            seconds[way].append(round(taken, 4))
            if way in {"gpu", "host"}:
                seen[way] = what
    return {
        "name": subject.name,
        "command": subjects.shown(subject.command),
        "seconds": seconds,
        "ratio": ratios(seconds),
        "failures": failures,
        "seen": seen,
    }


def run_once(subject: Subject, way: str, limit: float) -> tuple[float, dict[str, Any]]:
    """Run in one way; return the wall time in seconds and what was profiled.

    Raises
    ------
    RunError
        When the program or cuvein does not end well, or not in time.
    """
    options = WAYS[way]
    folder = Path(tempfile.mkdtemp(dir=_place()))
    start = time.perf_counter()
    try:
        if options is None or way == "empty":
            variables = floor.variables(folder) if way == "empty" else None
            outcome = session.execute(subject.command, limit, variables, cwd=subject.folder)
            taken = time.perf_counter() - start
            profiled = None
        else:
            profiled = session.profile(
                folder / "profiles", subject.command, *options, timeout=limit, cwd=subject.folder
            )
            taken = time.perf_counter() - start
            outcome = profiled.outcome
    except TimeoutError:
        raise RunError(f"more than {limit:g} s") from None
    good = NOTHING_PROFILED if way == "unselected" else 0
    if outcome.status != good:
        said = outcome.stderr.decode(errors="replace").strip().splitlines()
        raise RunError(f"status {outcome.status}: {said[-1] if said else 'it said nothing'}")
    return taken, _seen(profiled) if profiled else {}


@functools.cache
def _place() -> Path:
    """Where runs leave their profiles until the end.

    ext4 looks past the inodes that were deleted in the last minutes for each new file, so what is deleted
    after one run takes time from the next.
    """
    folder = tempfile.mkdtemp(prefix="cuvein-overhead-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _seen(profiled: session.Session) -> dict[str, Any]:
    """Tell launches, accesses, and which launches were not analysed where they should."""
    summaries = [process.summary for process in profiled.processes]
    profiles = profiled.profiles
    return {
        "launches": len(profiles),
        "kernels": len({profile.launch.kernel.mangled for profile in profiles}),
        "accesses": sum(sum(profile.coverage.accesses.values()) for profile in profiles),
        "left_to_host": {item.reason: item.launches for found in summaries for item in found.host_engine},
    }


def line(row: dict[str, Any], ways: list[str]) -> str:
    def cell(way: str) -> str:
        if way in row["failures"]:
            return f"{row['failures'][way][:17]:>17}"
        median = statistics.median(row["seconds"][way])
        return f"{median:8.2f} {row['ratio'].get(way, 0):7.2f}x"

    plain = row["seconds"]["plain"]
    first = f"{statistics.median(plain):8.2f}" if plain else f"{row['failures'].get('plain', '')[:8]:>8}"
    return f"{row['name']:30} {first} " + " ".join(cell(way) for way in ways[1:])


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Give median and largest ratio of each way."""
    result = {}
    for way in list(WAYS)[1:]:
        ratios = [ratio for row in rows if (ratio := ratio_of(row, way)) is not None]
        if ratios:
            result[way] = {
                "programs": len(ratios),
                "median": round(statistics.median(ratios), 3),
                "most": max(ratios),
            }
    return result


def ratio_of(row: dict[str, Any], way: str) -> float | None:
    """How many times as long as the plain run, at the row's commit or else an earlier one."""
    ratio: float | None = row["ratio"].get(way, row.get("earlier", {}).get(way, {}).get("ratio"))
    return ratio


def judge(rows: list[dict[str, Any]]) -> list[str]:
    """Say whether the goals for the GPU engine are met, and where not."""
    total = summary(rows).get("gpu")
    if not total:
        return ["No program ran with the GPU engine."]
    sentences = [
        f"GPU engine, {total['programs']} programs: median {total['median']:.2f}x (goal: {GOAL_MEDIAN:g}x), "
        f"most {total['most']:.2f}x (goal: {GOAL_MOST:g}x)."
    ]
    for row in rows:
        if row["ratio"].get("gpu", 0) > GOAL_MOST:
            sentences.append(f"MISSED: {row['name']} takes {row['ratio']['gpu']:.2f}x with the GPU engine.")
        if "gpu" in row["failures"]:
            sentences.append(f"FAILED: {row['name']} with the GPU engine: {row['failures']['gpu']}")
    return sentences


if __name__ == "__main__":
    sys.exit(main())
