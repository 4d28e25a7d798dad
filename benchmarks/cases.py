"""Case studies: what cuvein says of a kernel, what the fix removes, what that gains.

    python benchmarks/cases.py [--step STEP]... [--jobs N] [--resume] [--work FOLDER] [--results FILE]
                               [NAME ...]

For every folder of ``examples/cases`` this builds ``before.cu`` and ``after.cu`` and

``observe``
    profiles one run of each with ``cuvein run``, and compares them as ``cuvein diff`` does; ``--jobs`` cases
    at once, which changes no count;
``count``
    reads the hardware counters and the cycles of ten runs of each with Nsight Compute. The caches are empty
    when a launch begins, as they are for cuvein and as Nsight Compute has it.

The results of every step stay in the work folder; after each step what is there goes to the results file, so
that a run which is cut short loses nothing: ``--resume`` takes only the steps that have no result of this
commit yet. In the end a table is printed. Without ``--step`` all steps are taken. Needs a GPU, nvcc, and ncu
for the last step, during which nothing else may use the GPU.
The exit status is 1 when a step failed, not when a goal is missed: the table says that. It is 2 when there is
no GPU, no nvcc or no ncu.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "gpu"), str(ROOT / "benchmarks")]

from harness import build, session  # noqa: E402

import case_studies  # noqa: E402
import cases_page  # noqa: E402
import machine  # noqa: E402
import nsight  # noqa: E402
from command_line import added_to, demand_known, give_up, natural  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from case_studies import Case

# What a step finds, by the names it has in the results.
STEPS = {"observe": ("observe",), "count": ("count", "time")}
VARIANTS = ("before", "after")
RUNS = 10
# Seconds for a program under ncu; the longest takes 15.
TIMEOUT = 120
CYCLES = "gpc__cycles_elapsed.max"
PROCESSORS = len(os.sched_getaffinity(0))
# Both variants of a case run at once, and a program keeps a processor busy besides those that analyse.
JOBS = max(1, PROCESSORS // 4)
WORK = ROOT / "build" / "cases"
RESULTS = ROOT / "benchmarks" / "results" / "cases.json"


def main() -> int:
    """Take the steps that the command line asks for."""
    cases = case_studies.cases()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases (default: all)")
    parser.add_argument("--step", action="append", choices=STEPS, help="only this step; may be repeated")
    parser.add_argument("--work", type=Path, default=WORK, help="where programs and profiles go")
    parser.add_argument("--results", type=added_to, default=RESULTS, help="the file to write")
    parser.add_argument(
        "--jobs", type=natural, default=JOBS, metavar="N", help=f"cases to observe at once (here: {JOBS})"
    )
    parser.add_argument("--resume", action="store_true", help="keep what the work folder has of this commit")
    options = parser.parse_args()
    demand_known(parser, options.names, cases)
    gpu = machine.demand_gpu(parser)
    # Before a step takes its time.
    if "count" in (options.step or STEPS) and shutil.which("ncu") is None:
        give_up(parser, "no ncu on PATH: it comes with Nsight Compute; --step observe does without")
    chosen = [case for name, case in cases.items() if not options.names or name in options.names]
    unbuilt = compile_all(chosen, options.work, gpu.architecture)
    problems = [f"{name}: {reason}" for name, reason in unbuilt.items()]
    built = [case for case in chosen if case.name not in unbuilt]
    for step in options.step or STEPS:
        left = [case for case in built if not (options.resume and is_done(case, options.work, step))]
        problems += take(step, left, options.work, options.results, options.jobs)
    document = write(chosen, options.work, options.results)
    print(cases_page.table(document))
    print(*cases_page.goals(document), sep="\n")
    for problem in problems:
        print(f"cases.py: {problem}", file=sys.stderr)
    return 1 if problems else 0


def take(step: str, cases: list[Case], work: Path, results: Path, jobs: int) -> list[str]:
    """Take a step for all cases and write what is there after each; returns what failed, and why."""
    jobs = max(1, jobs) if step == "observe" else 1
    workers = max(1, PROCESSORS // (len(VARIANTS) * jobs))
    action = {"observe": partial(observe, workers=workers), "count": count}[step]
    problems = []
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        reasons = pool.map(lambda case: attempt(action, case, work, step), cases)
        for case, reason in zip(cases, reasons, strict=True):
            if reason:
                problems.append(f"{case.name}: {step}: {reason}")
            write(cases, work, results)
    return problems


def is_done(case: Case, work: Path, step: str) -> bool:
    """Say whether the work folder has this step's result, of the very commit that is checked out."""
    paths = [work / case.name / f"{name}.json" for name in STEPS[step]]
    commit = machine.describe()["commit"]
    if commit is None or commit.endswith("-dirty") or not all(path.exists() for path in paths):
        return False
    return all(json.loads(path.read_text())["machine"]["commit"] == commit for path in paths)


def compile_all(cases: list[Case], work: Path, architecture: str) -> dict[str, str]:
    """Build the programs; returns the reasons for those that do not compile."""

    def one(case: Case) -> str | None:
        sources = [case.source(variant) for variant in VARIANTS]
        try:
            build.compile_all(
                [str(source.relative_to(ROOT)) for source in sources if source.suffix == ".cu"],
                ROOT,
                work / case.name,
                architecture,
            )
        except RuntimeError as error:
            return str(error)
        return None

    with ThreadPoolExecutor(max_workers=8) as pool:
        reasons = dict(zip((case.name for case in cases), pool.map(one, cases), strict=True))
    return {name: reason for name, reason in reasons.items() if reason}


def program(case: Case, folder: Path, variant: str) -> list[str]:
    """Return the command that runs a variant which was built in ``folder``."""
    source = case.source(variant)
    return [sys.executable, str(source)] if source.suffix == ".py" else [str(folder / variant)]


def attempt(action: Callable[[Case, Path], dict[str, Any]], case: Case, work: Path, step: str) -> str | None:
    """Take a step and keep its result; returns why it failed, if it did."""
    try:
        start = monotonic()
        found = action(case, work / case.name)
    except (nsight.NsightError, RuntimeError, TimeoutError) as error:
        return str(error)
    print(f"cases.py: {case.name}: {step} took {monotonic() - start:.1f} s", file=sys.stderr)
    for name in STEPS[step]:
        result = {**found[name], "machine": machine.describe()}
        (work / case.name / f"{name}.json").write_text(json.dumps(result, indent=1))
    return None


def observe(case: Case, folder: Path, workers: int) -> dict[str, Any]:
    """Profile both variants at once, each analysed by so many threads, and compare them."""

    def run(variant: str) -> None:
        profiles = folder / f"{variant}-profiles"
        outcome = session.profile(
            profiles,
            [*program(case, folder, variant), *case.full],
            "--force",
            "--quiet",
            "--kernel-name",
            case.kernel,
            "--workers",
            str(workers),
            engine="host",  # the one that says which barriers could go
            timeout=300,
        ).outcome
        if (outcome.status, outcome.stdout) != (0, b"ok\n"):
            raise RuntimeError(f"{variant}: {outcome}")

    with ThreadPoolExecutor(max_workers=len(VARIANTS)) as pool:
        list(pool.map(run, VARIANTS))
    return {"observe": case_studies.compared(case, folder / "before-profiles", folder / "after-profiles")}


def count(case: Case, folder: Path) -> dict[str, Any]:
    """Read counters and cycles of ten runs of both variants.

    A run's counters are sums over its launches, and means of what is no sum; of them the mean over the runs
    is kept, of the cycles each.
    """
    counters, cycles = {}, {}
    for variant in VARIANTS:
        command = [*program(case, folder, variant), *case.full, "--repeat", str(RUNS)]
        launches = counted(command, ["--kernel-name", f"regex:{case.kernel}"])
        if len(launches) % RUNS or not all(CYCLES in launch.counters for launch in launches):
            raise RuntimeError(f"{variant}: {len(launches)} launches in {RUNS} runs, or some without cycles")
        counters[variant] = {
            name: sum(launch.counters[name] for launch in launches)
            / (RUNS if name.endswith(".sum") else len(launches))
            for name in case_studies.METRICS
            if all(name in launch.counters for launch in launches)
        }
        each = len(launches) // RUNS
        cycles[variant] = [
            sum(launch.counters[CYCLES] for launch in launches[start : start + each])
            for start in range(0, len(launches), each)
        ]
    return {"count": counters, "time": cycles}


absent: set[str] = set()


def counted(command: list[str], options: list[str]) -> list[nsight.Launch]:
    """Read all metrics that this GPU has, and name the others."""
    metrics = [name for name in (*case_studies.METRICS, CYCLES) if name not in absent]
    try:
        return nsight.count(command, metrics, options=options, timeout=TIMEOUT, cold=True)
    except nsight.NsightError as error:
        missing = re.search(r"knows no metric (\w+)", str(error))
        names = [name for name in metrics if missing and name.partition(".")[0] == missing[1]]
        if not names:
            raise
    print(f"cases.py: this GPU has no {', '.join(names)}", file=sys.stderr)
    absent.update(names)
    return counted(command, options)


def write(cases: list[Case], work: Path, results: Path) -> dict[str, Any]:
    """Put what is there of all steps into the results file; returns all that is in it now."""
    document = (
        json.loads(results.read_text())
        if results.exists()
        else {"format": "cuvein cases", "version": 1, "runs": RUNS, "cases": {}}
    )
    for case in cases:
        for name in (name for names in STEPS.values() for name in names):
            path = work / case.name / f"{name}.json"
            if path.exists():
                document["cases"].setdefault(case.name, {})[name] = json.loads(path.read_text())
    document["cases"] = dict(sorted(document["cases"].items()))
    document["machine"] = machine.describe()
    machine.keep(document, results)
    return document


if __name__ == "__main__":
    sys.exit(main())
