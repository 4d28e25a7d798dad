"""Whether cuvein counts what the hardware counts: prints a table, writes JSON.

    python benchmarks/fidelity.py [--sources FOLDER] [--output FILE] [WHAT ...]

Each program runs under ``cuvein run``, once with each engine, and under Nsight Compute, with the same input.
Launch by launch, the sums over cuvein's profile are compared with the hardware's counters (``counts.py`` has
which is which). WHAT is a group or one program of it (``examples``, ``rodinia/bfs``); default: all. Needs an
NVIDIA GPU, nvcc, ncu and cuvein. Differences are listed; the exit status is 1 when something could not be
compared.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import counts
import nsight
import programs
import subjects
from cuvein.source.names import short
from machine import ROOT, describe, device, session

if TYPE_CHECKING:
    from cuvein.profile import LaunchProfile
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


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("what", nargs="*", default=list(subjects.GROUPS), metavar="WHAT")
    parser.add_argument("--sources", type=Path, help="sources of the programs, instead of cloning them")
    parser.add_argument("--work", type=Path, default=programs.OUTPUT, help="where programs are built")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a run is given up")
    parser.add_argument("--budget", type=float, help="seconds after which no further program is begun")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    gpu = device.find()
    if isinstance(gpu, str):
        print(f"fidelity: {gpu}", file=sys.stderr)
        return 2
    machine = describe()
    sources = options.sources.absolute() if options.sources else None
    found, failed = subjects.find(options.what, "small", sources=sources, output=options.work.absolute())
    begin = time.monotonic()

    def head() -> dict[str, Any]:
        return {"machine": machine, "seconds": round(time.monotonic() - begin, 1)}

    compared: dict[str, list[Kernel]] = {}
    # ncu has the GPU's counters to itself, one program at a time; profiling goes on beside it.
    with ThreadPoolExecutor(max_workers=max(1, min(8, (os.cpu_count() or 1) // 2))) as pool:
        profiles = {subject.name: pool.submit(observe, subject, options.limit) for subject in found}
        for subject in found:
            if options.budget and time.monotonic() - begin > options.budget:
                failed.append(FidelityError(f"{subject.name}: not begun, since the time given was used up"))
                profiles[subject.name].cancel()
                continue
            try:
                counted = count(subject, options.limit)
                compared[subject.name] = compare(profiles[subject.name].result(), counted)
            except (FidelityError, nsight.NsightError) as problem:
                failed.append(FidelityError(f"{subject.name}: {problem}"))
                continue
            for kernel in compared[subject.name]:
                print(line(subject.name, kernel), flush=True)
            write(options.output, head(), found, compared, failed)
    write(options.output, head(), found, compared, failed)
    for error in failed:
        print(error, file=sys.stderr)
    for sentence in judge(compared):
        print(sentence)
    return 1 if failed else 0


def observe(subject: Subject, limit: float) -> dict[str, list[LaunchProfile]]:
    """Profile a program with each engine.

    Raises
    ------
    FidelityError
        When a run does not end well or leaves no profile.
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
            seen[engine] = run.profiles
        except TimeoutError:
            raise FidelityError(f"cuvein run with the {engine} engine took more than {limit:g} s") from None
        finally:
            shutil.rmtree(folder)
    return seen


def count(subject: Subject, limit: float) -> list[nsight.Launch]:
    """Read the counters of a program's launches."""
    return nsight.count(
        subject.command,
        counts.COUNTERS,
        options=["--launch-count", str(subject.launches)],
        timeout=limit,
        cwd=subject.folder,
    )


def compare(profiles: dict[str, list[LaunchProfile]], counted: list[nsight.Launch]) -> list[Kernel]:
    """Compare launch by launch and add up by kernel, in the order of first launches.

    Raises
    ------
    FidelityError
        When the runs did not launch the same grids in the same order.
    """
    grids = {
        engine: [(tuple(profile.launch.grid), tuple(profile.launch.block)) for profile in seen]
        for engine, seen in profiles.items()
    }
    grids["ncu"] = [(launch.grid, launch.block) for launch in counted]
    if any(of_one != grids["ncu"] for of_one in grids.values()):
        numbers = ", ".join(f"{name} {len(of_one)}" for name, of_one in grids.items())
        raise FidelityError(f"the runs did not launch the same grids (launches: {numbers})")
    kernels: dict[str, Kernel] = {}
    for launch, *seen in zip(counted, *profiles.values(), strict=True):
        first = seen[0]
        name = short(first.launch.kernel.name)
        kernel = kernels.setdefault(name, Kernel(name))
        kernel.launches += 1
        kernel.incomplete = kernel.incomplete or first.incomplete
        for item in first.coverage.not_analysed:
            before = kernel.not_analysed.get(item.instruction, 0)
            kernel.not_analysed[item.instruction] = before + item.executions
        ours = counts.of_profile(first)
        kernel.engines_differ += any(counts.of_profile(other) != ours for other in seen[1:])
        for what, theirs in counts.of_counters(launch.counters).items():
            if ours[what] or theirs:
                kernel.quantities.setdefault(what, Quantity()).add(ours[what], theirs)
    return list(kernels.values())


def write(
    file: Path,
    head: dict[str, Any],
    found: list[Subject],
    compared: dict[str, list[Kernel]],
    failed: list[Exception],
) -> None:
    """Write what there is so far."""
    document = {
        "format": "cuvein fidelity",
        "version": 1,
        **head,
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
        "failed": [str(error) for error in failed],
        "programs": [
            {
                "name": subject.name,
                "command": " ".join([Path(subject.command[0]).name, *subject.command[1:]]),
                "kernels": [asdict(kernel) for kernel in compared[subject.name]],
            }
            for subject in found
            if subject.name in compared
        ],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=1) + "\n")


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


def judge(compared: dict[str, list[Kernel]]) -> list[str]:
    """Say how far the goals are met."""
    total = summary(compared)
    sentences = [
        f"{total['kernels_within_goal']} of {total['kernels']} kernels ({total['programs']} programs, "
        f"{total['launches']} launches) within the goals."
    ]
    for name, seen in total["quantities"].items():
        if seen["differing"]:
            goal = counts.QUANTITIES[name].tolerance
            word = "MISSED" if seen["largest"] > goal else "within the goal"
            sentences.append(
                f"{word}: {name} differ in {seen['differing']} of {seen['kernels']} kernels, by at most "
                f"{100 * seen['largest']:.3g} % of a launch (goal: {100 * goal:g} %)."
            )
    return sentences


if __name__ == "__main__":
    sys.exit(main())
