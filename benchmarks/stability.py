"""How much label distributions differ from run to run and between the engines: prints a table, writes JSON.

    python benchmarks/stability.py [--runs N] [--seconds N] [--jobs N] [--output FILE] [PROGRAM ...]

Each example and each program of microbenchmarks runs N times under each engine. Of every launch, the bytes
by label are compared, all together, for each memory space and for each node: the total variation distance
(half the sum of the absolute differences of the shares) between any two of its runs, of one engine or of
both. Two programs run in a small size, too, which shows how far a race of few warps goes and is in no total.
The paper puts all traffic of a launch together; by space and by node is stricter. Needs an NVIDIA GPU, nvcc
and cuvein. What there is is written after each round of runs. The exit status is 1 when a run failed or when
two runs do not agree on the bytes that a node accesses, in which no schedule has a say; a missed goal is said
and changes nothing.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

BENCHMARKS = Path(__file__).resolve().parent
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS.parent / "tests" / "gpu")]

from harness import build, session  # noqa: E402

from command_line import demand_known, duration, natural, new_file  # noqa: E402
from cuvein.source import Locator, Missing  # noqa: E402
from machine import demand_gpu, describe, keep  # noqa: E402
from micro.expectations import LEAST_ARCHITECTURE, programs, source  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from cuvein.profile.model import LaunchProfile, Node

ROOT = BENCHMARKS.parent
RESULT = ROOT / "benchmarks" / "results" / "stability.json"
ENGINES = ("host", "gpu")
GOAL_MEAN, GOAL_MAX = 0.0005, 0.01
# All traffic of a launch, of a memory space of it, of a node.
LEVELS = ("traffic", "spaces", "nodes")
# Large enough that blocks outnumber what is resident at once or that many of them race. Two whose labels are
# a race are there twice: `half_rows` with 64 blocks, which all run at once and race from the start, and with
# 4096, which take turns; `stencil`, whose race is inside each block, with 1024 and with 16,384.
EXAMPLES = {
    "labels": ["64"],
    "softmax": ["64", "1024"],
    "softmax --racy": ["64", "1024", "--racy"],
    "matmul": ["256"],
    "stencil": ["512"],
    "stencil 2048": ["2048"],
    "reduction": ["256"],
    "histogram": ["256"],
    "histogram --spread": ["256", "--spread"],
    "async_copy": ["64", "8"],
    "transpose": ["256"],
    "half_rows": ["256", "512"],
    "half_rows 16384": ["16384", "512"],
    "bytes": ["64"],
}
# The same races where so few warps take part that each of them counts; not in the totals.
SMALL = {"half_rows 16": ["16", "512"], "stencil 64": ["64"]}
# Where the order of warps has a say, and in what.
REASONS = {
    "softmax --racy": "a barrier is left out on purpose: warps read and write the same words in any order",
    "matmul": "all warps of a block read each word of a tile of B: which of them read it before is open",
    "stencil": "neighbouring warps read each other's rows of the tile in any order",
    "stencil 2048": "the same, in sixteen times as many blocks",
    "histogram": "whether the add before was by a warp of the same block is open",
    "half_rows": "four warps of each block read the same weights: in what order with other blocks' is open",
    "half_rows 16384": "the same, but most blocks come when others have ended",
    "half_rows 16": "four blocks, whose 16 warps read all weights at once: each read is a race",
    "stencil 64": "the same, in 16 blocks",
}

MEANS, LARGEST = ("mean", "mean_within", "mean_across"), ("max", "max_within", "max_across")
Distribution = Counter[str]
# Of a launch: its kernel and place, then a space or a node.
Part = tuple[str, "Hashable"]


@dataclass(frozen=True)
class Program:
    """What is run again and again."""

    name: str
    source: str
    arguments: list[str]

    @property
    def small(self) -> bool:
        """Whether it is there to show how far a race of few warps goes."""
        return self.name in SMALL


@dataclass(frozen=True)
class Run:
    """Bytes by label of one run: by launch and space, by launch and node. ``fault`` if it failed."""

    engine: str
    spaces: dict[Part, Distribution]
    nodes: dict[Part, Distribution]
    lines: dict[Part, str]
    fault: str | None = None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="default: all")
    parser.add_argument("--runs", type=natural, default=10, metavar="N", help="of each engine (default: 10)")
    parser.add_argument(
        "--seconds",
        type=duration,
        default=600,
        metavar="N",
        help="start no round that would end later, going by the one before (default: 600)",
    )
    parser.add_argument(
        "--jobs",
        type=natural,
        default=min(12, os.cpu_count() or 1),
        metavar="N",
        help="runs at the same time",
    )
    parser.add_argument(
        "--output", type=new_file, metavar="FILE", help="JSON; default with all: results/stability.json"
    )
    options = parser.parse_args()
    gpu = demand_gpu(parser)
    known = {program.name: program for program in all_programs(gpu.architecture)}
    demand_known(parser, options.programs, known)
    chosen = [known[name] for name in options.programs or known]
    place = Path(tempfile.gettempdir()) / "cuvein-stability"
    shutil.rmtree(place / "runs", ignore_errors=True)
    sources = sorted({program.source for program in chosen})
    built = build.compile_all(sources, ROOT, place / "programs", gpu.architecture)

    output = options.output or (None if options.programs else RESULT)
    begin = time.monotonic()
    runs: dict[str, list[Run]] = {program.name: [] for program in chosen}
    rounds = 0

    def result() -> dict[str, Any]:
        rows = [judge(program, runs[program.name]) for program in chosen]
        return {
            "format": "cuvein stability",
            "version": 1,
            "machine": describe(),
            "seconds": round(time.monotonic() - begin, 1),
            "runs_per_engine": rounds,
            "goal": {"mean": GOAL_MEAN, "max": GOAL_MAX},
            **totals(rows),
            "programs": rows,
        }

    # Round by round, so that whenever the time is up all have as many runs. Processes, since to read profiles
    # takes as long as to make them; started anew, since the driver has threads in this one.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=options.jobs, mp_context=spawn) as pool:
        took = 0.0
        document = result()
        while rounds < options.runs and time.monotonic() - begin + took < options.seconds:
            started_at = time.monotonic()
            started = [
                (program, pool.submit(run, built[Path(program.source).stem], program, engine, place / "runs"))
                for program in chosen
                for engine in ENGINES
            ]
            for program, future in started:
                runs[program.name].append(future.result())
            rounds += 1
            took = time.monotonic() - started_at
            keep(document := result(), output)
    show(document)
    return 1 if any(row["faults"] for row in document["programs"]) else 0


def all_programs(architecture: str) -> list[Program]:
    """Examples and microbenchmarks that run on such a GPU."""
    found = [
        Program(name, f"examples/{name.split()[0]}.cu", arguments)
        for name, arguments in {**EXAMPLES, **SMALL}.items()
    ]
    number = int(architecture.removeprefix("sm_"))
    for name, benchmarks in programs(recorded=True).items():
        if number >= LEAST_ARCHITECTURE.get(name, 0):
            words = [entry.word for entry in benchmarks]
            found.append(Program(f"micro {name}", str(source(name).relative_to(ROOT)), words))
    return found


def run(executable: Path, program: Program, engine: str, runs: Path) -> Run:
    """Run a program once and add up what its profiles say, which are in ``runs`` for so long."""
    runs.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=runs))
    try:
        command = [str(executable), *program.arguments]
        done = session.profile(folder / "profiles", command, engine=engine, timeout=120)
    except TimeoutError as error:
        return Run(engine, {}, {}, {}, str(error))
    if done.outcome.status or not done.profiles:
        return Run(engine, {}, {}, {}, str(done.outcome))
    locator = Locator.beside(done.process.folder, sass=False)
    outcome = Run(engine, {}, {}, {})
    for number, profile in enumerate(done.profiles, 1):
        if profile.incomplete:
            return Run(engine, {}, {}, {}, profile.incomplete)
        add(outcome, f"{kernel_name(profile)} #{number}", profile, locator)
    shutil.rmtree(folder, ignore_errors=True)
    return outcome


def kernel_name(profile: LaunchProfile) -> str:
    """Name of the kernel without its parameters and return type."""
    return profile.launch.kernel.name.split("(")[0].split()[-1]


def add(outcome: Run, launch: str, profile: LaunchProfile, locator: Locator) -> None:
    """Add the bytes of a profile to those of its run."""
    parts: dict[int, Part] = {}
    for node in profile.nodes:
        parts[node.id] = (launch, (node.function, node.pc, node.space))
        outcome.lines[parts[node.id]] = place(profile, node, locator)
    for edge in profile.edges:
        part = parts[edge.node]
        outcome.spaces.setdefault((launch, profile.nodes[edge.node].space), Counter())[edge.label] += (
            edge.bytes
        )
        outcome.nodes.setdefault(part, Counter())[edge.label] += edge.bytes


def place(profile: LaunchProfile, node: Node, locator: Locator) -> str:
    """Give the line of a node: in a CUDA source before a header's."""
    frames = locator.node(profile, node).frames
    if isinstance(frames, Missing):
        return f"pc {node.pc:#x}"
    return next((frame for frame in frames if frame.file.endswith(".cu")), frames[0]).place


def distance(one: Distribution, other: Distribution) -> float:
    """Total variation between two distributions of the same total."""
    total = one.total()
    if not total or total != other.total():
        return 1.0
    return sum(abs(one[label] - other[label]) for label in one.keys() | other.keys()) / 2 / total


def judge(program: Program, runs: list[Run]) -> dict[str, Any]:
    """Compare the runs of a program; the JSON."""
    faults = sorted({run_.fault for run_ in runs if run_.fault})
    good = [run_ for run_ in runs if not run_.fault]
    faults += volumes(good)
    spaces = compare([(run_.engine, run_.spaces) for run_ in good])
    traffic = compare([(run_.engine, whole(run_.spaces)) for run_ in good])
    nodes = compare([(run_.engine, run_.nodes) for run_ in good])
    worst = sorted((part for part in nodes if nodes[part]["max"] > 0), key=lambda p: -nodes[p]["max"])[:5]
    return {
        "program": program.name,
        "small": program.small,
        "arguments": program.arguments if not program.name.startswith("micro ") else [],
        "launches": len(traffic),
        "traffic": summary(traffic.values()),
        "spaces": summary(spaces.values()),
        "nodes": summary(nodes.values()),
        "moving": [
            {
                "kernel": part[0],
                "line": good[0].lines[part],
                "max": nodes[part]["max"],
                "shares": shares([run_.nodes[part] for run_ in good]),
            }
            for part in worst
        ],
        "reason": REASONS.get(program.name) if worst else None,
        "faults": faults,
    }


def whole(spaces: Mapping[Part, Distribution]) -> dict[Part, Distribution]:
    """Put the spaces of each launch together."""
    launches: dict[Part, Distribution] = {}
    for (launch, _), distribution in spaces.items():
        launches.setdefault((launch, None), Counter()).update(distribution)
    return launches


def volumes(runs: list[Run]) -> list[str]:
    """Say where runs do not agree on how many bytes a node accesses."""
    faults = set()
    for run_ in runs[1:]:
        for part in run_.nodes.keys() | runs[0].nodes.keys():
            here, there = (r.nodes.get(part, Counter()).total() for r in (run_, runs[0]))
            if here != there:
                faults.add(f"{part[0]} {part[1]}: {here} and {there} bytes in two runs")
    return sorted(faults)


def compare(runs: list[tuple[str, Mapping[Part, Distribution]]]) -> dict[Part, dict[str, float]]:
    """Give mean and largest distance of any two runs, by part; and those of one engine, of two engines."""
    found = {}
    for part in runs[0][1] if runs else ():
        pairs = [
            (one[0] != other[0], distance(one[1].get(part, Counter()), other[1].get(part, Counter())))
            for one, other in itertools.combinations(runs, 2)
        ]
        within = [d for across, d in pairs if not across]
        across = [d for across, d in pairs if across]
        found[part] = {
            "mean": fmean(d for _, d in pairs) if pairs else 0.0,
            "max": max((d for _, d in pairs), default=0.0),
            "mean_within": fmean(within) if within else 0.0,
            "mean_across": fmean(across) if across else 0.0,
            "max_within": max(within, default=0.0),
            "max_across": max(across, default=0.0),
        }
    return found


def summary(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Add up over the parts of a program or of all: each part counts once."""
    parts = list(parts)
    return {
        "count": len(parts),
        "identical": sum(part["max"] == 0 for part in parts),
        **{key: fmean(part[key] for part in parts) if parts else 0.0 for key in MEANS},
        **{key: max((part[key] for part in parts), default=0.0) for key in LARGEST},
    }


def shares(runs: list[Distribution]) -> dict[str, list[float]]:
    """Give the least and the largest share of each label."""
    labels = sorted(set().union(*runs))
    found = {}
    for label in labels:
        of_runs = [run_[label] / run_.total() for run_ in runs]
        found[label] = [min(of_runs), max(of_runs)]
    return found


def totals(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Take all programs but small ones together, each space (node) of each launch counting once."""
    found = {}
    for what in LEVELS:
        counted = [row[what] for row in rows if row[what]["count"] and not row["small"]]
        count = sum(part["count"] for part in counted) or 1
        total = {
            "count": sum(part["count"] for part in counted),
            "identical": sum(part["identical"] for part in counted),
            **{key: sum(part[key] * part["count"] for part in counted) / count for key in MEANS},
            **{key: max((part[key] for part in counted), default=0.0) for key in LARGEST},
        }
        total["goal_met"] = total["mean"] < GOAL_MEAN and total["max"] < GOAL_MAX
        found[what] = total
    return found


def show(document: dict[str, Any]) -> None:
    """Print the table."""
    print(f"{'program':20}" + "".join(f"   {level:>8}: mean {'max':>9}" for level in LEVELS))
    for row in document["programs"]:
        cells = (f"   {row[level]['mean']:>14.4%} {row[level]['max']:>9.4%}" for level in LEVELS)
        print(f"{row['program']:20}" + "".join(cells))
        for fault in row["faults"]:
            print(f"    FAULT: {fault}")
        if row["moving"]:
            print(f"    why: {row['reason'] or 'NOT EXPLAINED'}")
        for moving in row["moving"]:
            text = ", ".join(f"{label} {a:.2%} to {b:.2%}" for label, (a, b) in moving["shares"].items())
            print(f"    {moving['kernel']} {moving['line']}: {text}")
    for what in LEVELS:
        total = document[what]
        print(
            f"{what}: {total['count']} compared, {total['identical']} identical in all runs, mean "
            f"{total['mean']:.4%}, max {total['max']:.4%} (between runs of one engine "
            f"{total['mean_within']:.4%}, {total['max_within']:.4%}): "
            f"goal (mean below {GOAL_MEAN:.2%}, max below {GOAL_MAX:.0%}) "
            f"{'met' if total['goal_met'] else 'MISSED'}"
        )


if __name__ == "__main__":
    sys.exit(main())
