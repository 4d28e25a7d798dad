"""Runs the microbenchmarks under cuvein, with both engines, and compares every graph with the derived one.

    python benchmarks/micro [--engine host|gpu] [--output FILE] [NAME ...]
    python benchmarks/micro --record FOLDER

A NAME is a program (``banks``), a kernel (``stride4``) or one with its parameters (``stride4:8:32``).
Needs an NVIDIA GPU, nvcc and cuvein. Prints a table and writes JSON; the exit status is 1 when a graph is not
as derived. ``--record`` writes the traces and the manifest that the tests replay without a GPU instead, and
keeps a trace only when its graphs are as derived.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

FOLDER = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "tests" / "gpu")]

from harness import build, session  # noqa: E402

from command_line import new_file  # noqa: E402
from cuvein.profile import violations  # noqa: E402
from cuvein.source import Locator, ModuleStore  # noqa: E402
from machine import demand_gpu, describe, keep  # noqa: E402
from micro.expectations import BENCHMARKS, LEAST_ARCHITECTURE, programs, source  # noqa: E402
from micro.graph import Benchmark, differences, lines  # noqa: E402

if TYPE_CHECKING:
    from cuvein.profile import LaunchProfile

ROOT = FOLDER.parent
RESULT = ROOT / "benchmarks" / "results" / "micro.json"
ENGINES = ("host", "gpu")
# Of a bound of 1.5 MB for all recordings together.
ALL_TRACES = 3 << 19


@dataclass(frozen=True)
class Outcome:
    """What one benchmark gave with one engine: what is wrong, and the profile if there is one."""

    faults: list[str]
    profile: LaunchProfile | None


def main() -> int:
    parser = argparse.ArgumentParser(prog="micro", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to run (default: all)")
    parser.add_argument("--engine", choices=ENGINES, help="default: both")
    parser.add_argument(
        "--output", type=new_file, metavar="FILE", help="JSON; default with all: results/micro.json"
    )
    parser.add_argument("--record", type=Path, metavar="FOLDER", help="write traces instead")
    options = parser.parse_args()
    chosen = programs(recorded=options.record is not None)
    if options.names:
        names = set(options.names)
        chosen = {
            program: [entry for entry in entries if names & {program, entry.kernel, entry.word}]
            for program, entries in chosen.items()
        }
        chosen = {program: entries for program, entries in chosen.items() if entries}
        known = {name for entry in BENCHMARKS for name in (entry.program, entry.kernel, entry.word)}
        if unknown := sorted(names - known):
            parser.error(f"unknown: {', '.join(unknown)}; programs are {', '.join(programs())}")
    gpu = demand_gpu(parser)
    for name, least in LEAST_ARCHITECTURE.items():
        if name in chosen and int(gpu.architecture.removeprefix("sm_")) < least:
            print(f"{name}: left out, needs sm_{least}, this is {gpu.architecture}")
            del chosen[name]
    # Paths end up in line tables and profiles: a neutral place, and the sources by relative paths.
    place = Path(tempfile.gettempdir()) / "cuvein-micro"
    shutil.rmtree(place / "runs", ignore_errors=True)
    sources = [str(source(name).relative_to(ROOT)) for name in chosen]
    built = build.compile_all(sources, ROOT, place / "programs", gpu.architecture)
    if options.record is not None:
        return record(chosen, built, place / "runs", options.record)
    engines = [options.engine] if options.engine else list(ENGINES)
    whole = not options.names and not options.engine
    output = options.output or (RESULT if whole else None)
    return compare(chosen, built, place / "runs", engines, output)


def compare(
    chosen: dict[str, list[Benchmark]],
    built: dict[str, Path],
    place: Path,
    engines: list[str],
    output: Path | None,
) -> int:
    """Run all with each engine, print the table, write the JSON."""
    begin = time.monotonic()
    jobs = [(name, engine) for name in chosen for engine in engines]

    def job(name: str, engine: str) -> list[Outcome]:
        return run(chosen[name], built[name], place / f"{name}-{engine}", engine)

    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        outcomes = dict(zip(jobs, pool.map(lambda one: job(*one), jobs), strict=True))
    rows: list[dict[str, Any]] = []
    print(f"{'program':11} {'kernel':24} {'accesses':>9} {'bytes':>11} nodes edges  {'  '.join(engines)}")
    for name, benchmarks in chosen.items():
        for i, entry in enumerate(benchmarks):
            rows.append(row(entry, {engine: outcomes[name, engine][i] for engine in engines}))
            show(rows[-1])
    bad = sum(bool(seen["differences"]) for row_ in rows for seen in row_["engines"].values())
    kernels = len({(entry.program, entry.kernel) for entries in chosen.values() for entry in entries})
    left = sum(row_["engines"].get("gpu", {}).get("analysed_by") == "host" for row_ in rows)
    print(f"\n{kernels} kernels, {len(rows)} launches an engine: {bad} graphs are not as derived")
    if left:
        print(f"{left} launches were left to the host engine where the GPU engine was asked for")
    document = {
        "format": "cuvein microbenchmarks",
        "version": 1,
        "machine": describe(),
        "seconds": round(time.monotonic() - begin, 1),
        "kernels": kernels,
        "launches": len(rows),
        "not_as_derived": bad,
        "left_to_host_engine": left,
        "benchmarks": rows,
    }
    keep(document, output)
    return 1 if bad else 0


def row(entry: Benchmark, outcomes: dict[str, Outcome]) -> dict[str, Any]:
    """Make the JSON of one benchmark: what was derived, and how each engine's graph differs from it."""
    engines = {}
    for name, outcome in outcomes.items():
        found = outcome.profile
        analysed = None if found is None else found.engine
        engines[name] = {"analysed_by": analysed, "differences": outcome.faults}
    return {
        "program": entry.program,
        "kernel": entry.word,
        "accesses": sum(node.executions for node in entry.graph),
        "bytes": sum(node.bytes for node in entry.graph),
        "nodes": len(entry.graph),
        "edges": sum(len(node.edges) for node in entry.graph),
        "engines": engines,
    }


def show(shown: dict[str, Any]) -> None:
    """Print a row of the table, and what differs below it."""
    marks = []
    for name, seen in shown["engines"].items():
        if seen["differences"]:
            marks.append("DIFFERS")
        else:
            # The GPU engine leaves some launches to the host engine.
            marks.append("equal" if seen["analysed_by"] == name else f"equal ({seen['analysed_by']})")
    print(
        f"{shown['program']:11} {shown['kernel']:24} {shown['accesses']:>9,} {shown['bytes']:>11,} "
        f"{shown['nodes']:>5} {shown['edges']:>5}  {'  '.join(marks)}"
    )
    for name, seen in shown["engines"].items():
        for fault in seen["differences"]:
            print(f"    {name}: {fault}")


def run(
    benchmarks: list[Benchmark], program: Path, folder: Path, engine: str, *options: str
) -> list[Outcome]:
    """Run one program under cuvein; the outcomes in the order of the benchmarks."""
    command = [str(program), *(entry.word for entry in benchmarks)]
    try:
        done = session.profile(folder, command, "--engine", engine, *options, timeout=120)
    except TimeoutError as error:
        return [Outcome([str(error)], None)] * len(benchmarks)
    if (done.outcome.status, done.outcome.stdout) != (0, b"ok\n"):
        return [Outcome([str(done.outcome)], None)] * len(benchmarks)
    process = done.process
    locator = Locator.beside(process.folder, sass=False)
    return judge(benchmarks, process.profiles, locator, engine)


def judge(
    benchmarks: list[Benchmark], profiles: list[LaunchProfile], locator: Locator, engine: str
) -> list[Outcome]:
    """Compare the profiles of one run, in launch order, with what was derived."""
    if len(profiles) != len(benchmarks):
        fault = f"{len(profiles)} profiles of {len(benchmarks)} launches"
        return [Outcome([fault], None)] * len(benchmarks)
    return [
        Outcome(faults_of(entry, profile, locator, engine), profile)
        for entry, profile in zip(benchmarks, profiles, strict=True)
    ]


def faults_of(entry: Benchmark, profile: LaunchProfile, locator: Locator, engine: str) -> list[str]:
    """Say what is wrong with a profile."""
    # `width16` launches `void width<float4>(...)`.
    match = re.search(r"(\w+)(<.*)?\(", profile.launch.kernel.name)
    if match is None or match[1] not in {entry.kernel, entry.kernel.rstrip("0123456789")}:
        return [f"this is the kernel {profile.launch.kernel.name}"]
    faults = violations(profile)
    if profile.incomplete:
        faults.append(profile.incomplete)
    if profile.engine == "gpu" and engine == "host":
        faults.append("analysed by the GPU engine, should be by the host engine")
    try:
        names = lines(profile, locator, source(entry.program))
    except ValueError as error:
        return [*faults, str(error)]
    return faults + differences(profile, names, entry.graph)


def record(chosen: dict[str, list[Benchmark]], built: dict[str, Path], place: Path, output: Path) -> int:
    """Write the trace of each program to ``output``, with a manifest."""
    from cuvein.native import replay  # noqa: PLC0415
    from cuvein.profile import decode  # noqa: PLC0415
    from cuvein.source import TraceModules  # noqa: PLC0415

    output.mkdir(parents=True, exist_ok=True)
    entries: dict[str, Any] = {}
    bad = 0
    for name, benchmarks in chosen.items():
        trace = place / f"{name}.cvt"
        trace.parent.mkdir(parents=True, exist_ok=True)
        outcomes = run(benchmarks, built[name], place / name, "host", "--trace", str(trace))
        documents: list[bytes] = []
        if trace.exists():
            replay(trace, documents.append, workers=1)
        found = sorted((decode(text, name) for text in documents), key=lambda p: p.launch.sequence)
        locator = Locator(ModuleStore(sources=[TraceModules(trace)]))
        outcomes += judge(benchmarks, found, locator, "host")
        faults = [fault for outcome in outcomes for fault in outcome.faults]
        if faults:
            bad += 1
            print(f"{name}: not recorded", *faults, sep="\n  ", file=sys.stderr)
            continue
        shutil.copyfile(trace, output / trace.name)
        data = trace.read_bytes()
        entries[name] = {
            "kernels": [entry.word for entry in benchmarks],
            "source_sha256": hashlib.sha256(source(name).read_bytes()).hexdigest(),
            "trace_bytes": len(data),
            "trace_sha256": hashlib.sha256(data).hexdigest(),
        }
        print(f"{name}: {len(benchmarks)} launches, {len(data)} bytes of trace")
    document = {
        "format": "cuvein microbenchmark recordings",
        "version": 1,
        "machine": describe(),
        "recordings": entries,
    }
    (output / "manifest.json").write_text(json.dumps(document, indent=1) + "\n")
    total = sum(entry["trace_bytes"] for entry in entries.values())
    if total > ALL_TRACES:
        bad += 1
        print(f"micro: the traces take {total} bytes together, more than {ALL_TRACES}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
