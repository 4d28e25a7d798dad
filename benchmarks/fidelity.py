"""Whether cuvein counts what the hardware counts: prints a table, writes JSON.

    python benchmarks/fidelity.py [--sources FOLDER] [--output FILE] [--raw FILE] [WHAT ...]
    python benchmarks/fidelity.py --again FILE...

Each program runs under ``cuvein run``, once with each engine, and under Nsight Compute, with the same input.
Launch by launch, the sums over cuvein's profile are compared with the hardware's counters (``counts.py`` has
which is which). WHAT is a group or one program of it (``examples``, ``rodinia/bfs``); default: all. Needs an
NVIDIA GPU, nvcc, ncu and cuvein. Differences are listed; the exit status is 1 when something could not be
compared. ``--raw`` keeps what was counted, ``--again`` compares it once more and needs nothing else; of
results, which it takes too, the rows stand as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import counts
import nsight
import programs
import subjects
from command_line import demand_known, duration, kept, new_file
from cuvein.profile import ProfileError
from cuvein.source.names import short
from machine import ROOT, demand_gpu, describe, keep, session

if TYPE_CHECKING:
    from subjects import Subject

RESULTS = ROOT / "benchmarks" / "results" / "fidelity.json"
ENGINES = ("host", "gpu")


class FidelityError(Exception):
    """A program could not be compared; the message says why."""


@dataclass
class Quantity:
    """One quantity of one kernel: both sums over all launches, and how many launches differ by how much.

    ``largest`` is the largest difference in one launch, relative to what the hardware counted.
    """

    cuvein: int = 0
    hardware: int = 0
    differing: int = 0
    largest: float = 0.0

    def add(self, cuvein: int, hardware: int) -> None:
        """Add a launch."""
        self.cuvein += cuvein
        self.hardware += hardware
        if cuvein != hardware:
            self.differing += 1
            self.largest = max(self.largest, abs(cuvein - hardware) / max(1, hardware))


@dataclass
class Kernel:
    """What was compared of one kernel of a program.

    ``not_analysed`` are executions of instructions that cuvein sees and does not analyse; ``engines_differ``
    is the number of launches of which the engines did not give the same sums.
    """

    kernel: str
    launches: int = 0
    quantities: dict[str, Quantity] = field(default_factory=dict)
    not_analysed: dict[str, int] = field(default_factory=dict)
    engines_differ: int = 0
    incomplete: str | None = None

    def differs(self) -> bool:
        """Tell whether a goal is missed."""
        return any(
            quantity.largest > counts.QUANTITIES[name].tolerance for name, quantity in self.quantities.items()
        )


Raw = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("what", nargs="*", metavar="WHAT")
    parser.add_argument("--sources", type=Path, help="sources of the programs, instead of cloning them")
    parser.add_argument("--work", type=Path, default=programs.OUTPUT, help="where programs are built")
    parser.add_argument("--limit", type=duration, default=120, help="seconds after which a run is given up")
    parser.add_argument("--budget", type=duration, help="seconds after which no further program is begun")
    parser.add_argument(
        "--output", type=new_file, metavar="FILE", help="JSON; default with all: results/fidelity.json"
    )
    parser.add_argument("--raw", type=new_file, metavar="FILE", help="keep what was counted")
    parser.add_argument(
        "--again",
        type=kept("name", "command", "cuvein or kernels"),
        nargs="+",
        metavar="FILE",
        help="compare what --raw kept, of several runs together; of a program the last has the word",
    )
    options = parser.parse_args()
    output = options.output or (None if options.what else RESULTS)
    options.what = options.what or list(subjects.GROUPS)
    demand_known(parser, {what.split("/")[0] for what in options.what}, subjects.GROUPS)
    if options.again:
        raw = together(options.again)
    else:
        demand_gpu(parser, compiler=subjects.need_compiler(options.what))
        raw = measure(options)
    return judge(raw, output)


def measure(options: argparse.Namespace) -> Raw:
    """Count everything, and keep it as it comes where asked to."""
    machine = describe()
    sources = options.sources.absolute() if options.sources else None
    found, failed = subjects.find(options.what, "small", sources=sources, output=options.work.absolute())
    begin = time.monotonic()
    raw: Raw = {
        "machine": machine,
        "seconds": 0.0,
        "failed": [str(error) for error in failed],
        "programs": [],
    }

    def give_up(subject: Subject, why: object) -> None:
        raw["failed"].append(f"{subject.name}: {why}")
        print(f"{subject.name}: {why}", file=sys.stderr, flush=True)

    counted: list[tuple[Subject, Future[dict[str, list[Raw]]], list[Raw]]] = []

    def keep() -> None:
        """Move on what both sides have counted; write it where asked to."""
        for one in [one for one in counted if one[1].done()]:
            counted.remove(one)
            subject, profiles, launches = one
            try:
                seen = profiles.result()
            except (FidelityError, ProfileError) as problem:
                give_up(subject, problem)
                continue
            command = subjects.shown(subject.command)
            raw["programs"].append(
                {"name": subject.name, "command": command, "cuvein": seen, "ncu": launches}
            )
        raw["seconds"] = round(time.monotonic() - begin, 1)
        if options.raw:
            options.raw.write_text(json.dumps(raw) + "\n")

    # ncu has the GPU's counters to itself, one program at a time; profiling goes on beside it.
    with ThreadPoolExecutor(max_workers=max(1, min(8, (os.cpu_count() or 1) // 2))) as pool:
        profiled = [pool.submit(observe, subject, options.limit) for subject in found]
        for subject, profiles in zip(found, profiled, strict=True):
            if options.budget and time.monotonic() - begin > options.budget:
                give_up(subject, "not begun, since the time given was used up")
                profiles.cancel()
                continue
            start = time.monotonic()
            try:
                launches = count(subject, options.limit)
            except nsight.NsightError as problem:
                give_up(subject, problem)
                continue
            counted.append((subject, profiles, launches))
            print(f"{subject.name}: {len(launches)} launches, {time.monotonic() - start:.1f} s", flush=True)
            keep()
        wait([profiles for _, profiles, _ in counted])
    keep()
    return raw


def together(raws: list[Raw]) -> Raw:
    """Take several runs as one, on the machine of the last.

    The last that counted a program has the word; one of another commit than the last run's names it.
    """
    counted: dict[str, Raw] = {}
    for raw in raws:
        commit = raw["machine"]["commit"]
        counted |= {program["name"]: {"commit": commit, **program} for program in raw["programs"]}
    for program in counted.values():
        if program["commit"] == raws[-1]["machine"]["commit"]:
            del program["commit"]
    failed = {text.split(":")[0]: text for raw in raws for text in raw["failed"]}
    return {
        **raws[-1],
        "seconds": round(sum(raw["seconds"] for raw in raws), 1),
        "failed": [text for name, text in failed.items() if name not in counted],
        "programs": list(counted.values()),
    }


def observe(subject: Subject, limit: float) -> dict[str, list[Raw]]:
    """Profile a program with each engine; what is compared of each launch.

    Raises
    ------
    FidelityError
        When a run does not end well.
    """
    seen = {}
    for engine in ENGINES:
        folder = Path(tempfile.mkdtemp(prefix="cuvein-fidelity-"))
        # A few workers each, since other programs run beside this one.
        options = ["--engine", engine, "--launch-count", str(subject.launches), "--workers", "2"]
        try:
            run = session.profile(
                folder / "profiles", subject.command, *options, timeout=limit, cwd=subject.folder
            )
            if run.outcome.status:
                said = run.outcome.stderr.decode(errors="replace").strip().splitlines() or [""]
                raise FidelityError(f"cuvein run ended with {run.outcome.status}: {said[-1]}")
            seen[engine] = [
                {
                    "kernel": short(profile.launch.kernel.name),
                    "grid": profile.launch.grid,
                    "block": profile.launch.block,
                    "incomplete": profile.incomplete,
                    "not_analysed": {
                        item.instruction: item.executions for item in profile.coverage.not_analysed
                    },
                    "sums": counts.add_up(profile),
                }
                for profile in run.profiles
            ]
        except TimeoutError:
            raise FidelityError(f"cuvein run with the {engine} engine took more than {limit:g} s") from None
        finally:
            shutil.rmtree(folder)
    return seen


def count(subject: Subject, limit: float) -> list[Raw]:
    """Read the counters of a program's launches."""
    metrics = [*counts.COUNTERS, *counts.OTHERS]
    launches = nsight.count(
        subject.command,
        metrics,
        options=["--launch-count", str(subject.launches)],
        timeout=limit,
        cwd=subject.folder,
    )
    return [
        {
            "grid": launch.grid,
            "block": launch.block,
            "counters": {name: launch.counters[name] for name in metrics if name in launch.counters},
        }
        for launch in launches
    ]


def different_launches(program: Raw) -> str | None:
    """Say so when the runs did not launch the same grids in the same order."""
    runs = {**program["cuvein"], "ncu": program["ncu"]}
    grids = {name: [[*run["grid"], *run["block"]] for run in launches] for name, launches in runs.items()}
    if all(of_one == grids["ncu"] for of_one in grids.values()):
        return None
    numbers = ", ".join(f"{name} {len(of_one)}" for name, of_one in grids.items())
    return f"the runs did not launch the same grids (launches: {numbers})"


def compare(program: Raw) -> list[Kernel]:
    """Compare launch by launch and add up by kernel, in the order of first launches."""
    kernels: dict[str, Kernel] = {}
    for launch, *seen in zip(program["ncu"], *program["cuvein"].values(), strict=True):
        first = seen[0]
        kernel = kernels.setdefault(first["kernel"], Kernel(first["kernel"]))
        kernel.launches += 1
        kernel.incomplete = kernel.incomplete or first["incomplete"]
        for instruction, executions in first["not_analysed"].items():
            kernel.not_analysed[instruction] = kernel.not_analysed.get(instruction, 0) + executions
        ours = counts.of_sums(first["sums"])
        kernel.engines_differ += any(counts.of_sums(other["sums"]) != ours for other in seen[1:])
        for what, theirs in counts.of_counters(launch["counters"]).items():
            if ours[what] or theirs:
                kernel.quantities.setdefault(what, Quantity()).add(ours[what], theirs)
    return list(kernels.values())


def kernel_of(row: Raw) -> Kernel:
    """Read a kernel from a result."""
    quantities = {name: Quantity(**quantity) for name, quantity in row["quantities"].items()}
    return Kernel(**{**row, "quantities": quantities})


def judge(raw: Raw, output: Path | None) -> int:
    """Compare, print, write; return the exit status."""
    compared: dict[str, list[Kernel]] = {}
    failed = list(raw["failed"])
    raw["programs"].sort(
        key=lambda program: (subjects.GROUPS.index(program["name"].split("/")[0]), program["name"])
    )
    for program in raw["programs"]:
        if "kernels" in program:
            compared[program["name"]] = [kernel_of(row) for row in program["kernels"]]
        elif trouble := different_launches(program):
            failed.append(f"{program['name']}: {trouble}")
        else:
            compared[program["name"]] = compare(program)
    for name, kernels in compared.items():
        for kernel in kernels:
            print(line(name, kernel))
    if output:
        write(output, raw, compared, failed)
    for text in failed:
        print(text, file=sys.stderr)
    for sentence in sentences(compared):
        print(sentence)
    return 1 if failed else 0


def write(file: Path, raw: Raw, compared: dict[str, list[Kernel]], failed: list[str]) -> None:
    """Write the result."""
    document = {
        "format": "cuvein fidelity",
        "version": 1,
        "machine": raw["machine"],
        "seconds": raw["seconds"],
        "quantities": [
            {
                "name": name,
                "cuvein": quantity.meaning,
                "counters": list(quantity.counters),
                "tolerance": quantity.tolerance,
            }
            for name, quantity in counts.QUANTITIES.items()
        ],
        "summary": summary(compared),
        "failed": failed,
        "programs": [
            {
                **{key: program[key] for key in ("name", "command", "commit") if key in program},
                "kernels": [asdict(kernel) for kernel in compared[program["name"]]],
            }
            for program in raw["programs"]
            if program["name"] in compared
        ],
    }
    keep(document, file)


def summary(compared: dict[str, list[Kernel]]) -> dict[str, Any]:
    """Count kernels and launches; of each quantity, in how many kernels it occurs and differs."""
    kernels = [kernel for of_program in compared.values() for kernel in of_program]
    quantities = {}
    for name in counts.QUANTITIES:
        seen = [kernel.quantities[name] for kernel in kernels if name in kernel.quantities]
        quantities[name] = {
            "kernels": len(seen),
            "differing": sum(quantity.differing > 0 for quantity in seen),
            "largest": max((quantity.largest for quantity in seen), default=0.0),
        }
    return {
        "programs": len(compared),
        "kernels": len(kernels),
        "launches": sum(kernel.launches for kernel in kernels),
        "kernels_within_goal": sum(not kernel.differs() for kernel in kernels),
        "engines_differ": sum(kernel.engines_differ for kernel in kernels),
        "quantities": quantities,
    }


def line(program: str, kernel: Kernel) -> str:
    """Describe one kernel: agreement, or each difference."""
    differences = [
        f"{name} {quantity.cuvein:,} against {quantity.hardware:,}"
        for name, quantity in kernel.quantities.items()
        if quantity.differing
    ]
    if kernel.engines_differ:
        differences.append(f"the engines differ in {kernel.engines_differ} launches")
    verdict = "; ".join(differences) or f"all {len(kernel.quantities)} quantities equal"
    return f"{program:28} {kernel.kernel[:48]:48} {kernel.launches:4}  {verdict}"


def sentences(compared: dict[str, list[Kernel]]) -> list[str]:
    """Say how far the goals are met."""
    total = summary(compared)
    said = [
        f"{total['kernels_within_goal']} of {total['kernels']} kernels ({total['programs']} programs, "
        f"{total['launches']} launches) within the goals."
    ]
    for name, seen in total["quantities"].items():
        if seen["differing"]:
            goal = counts.QUANTITIES[name].tolerance
            word = "MISSED" if seen["largest"] > goal else "within the goal"
            said.append(
                f"{word}: {name} differ in {seen['differing']} of {seen['kernels']} kernels, by at most "
                f"{100 * seen['largest']:.3g} % of a launch (goal: {100 * goal:g} %)."
            )
    return said


if __name__ == "__main__":
    sys.exit(main())
