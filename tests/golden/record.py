"""Records the golden traces and profiles; needs a GPU, nvcc and cuvein.

    python tests/golden/record.py [--output FOLDER] [NAME ...]
    python tests/golden/record.py --replay [NAME ...]

Each example is built and run at fixture size under ``cuvein run --trace``. A recording is kept only when its
graph is what the example's formulae demand and the replay gives the graph of the live run. The recording that
``cuvein demo`` replays is written with them. ``--replay`` needs no GPU: it makes the profiles anew from the
traces, for changes of the profile format.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "gpu")]

from harness import build, device, examples, lines, planted, session, summary  # noqa: E402

import golden  # noqa: E402
from cuvein.profile import violations  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from cuvein.profile import LaunchProfile

ROOT = TESTS.parent
DEMO = ROOT / "src" / "cuvein" / "demo"
LARGEST_TRACE = 1 << 20
ALL_TRACES = 8 << 20


@dataclass(frozen=True)
class Recording:
    """An example at fixture size. ``expected`` is ``None`` where the schedule decides too much (races)."""

    arguments: list[str]
    expected: Callable[[], examples.Expected] | None

    @property
    def program(self) -> str:
        """Name of the source without suffix."""
        return self.arguments[0]


RECORDINGS: dict[str, Recording] = {
    "labels": Recording(["labels", "8"], lambda: examples.labels(8)),
    "softmax": Recording(["softmax", "64", "1024"], lambda: examples.softmax(64, 1024)),
    "softmax_racy": Recording(["softmax", "8", "1024", "--racy"], None),
    "matmul": Recording(["matmul", "96"], lambda: examples.matmul(96)),
    "stencil": Recording(["stencil", "64"], lambda: examples.stencil(64)),
    "reduction": Recording(["reduction", "16"], lambda: examples.reduction(16)),
    "histogram": Recording(["histogram", "16"], lambda: examples.histogram(16)),
    "histogram_spread": Recording(
        ["histogram", "16", "--spread"], lambda: examples.histogram(16, spread=True)
    ),
    "async_copy": Recording(["async_copy", "8", "8"], lambda: examples.async_copy(8, 8)),
    "transpose": Recording(["transpose", "64"], lambda: examples.transpose(64)),
    "half_rows": Recording(["half_rows", "16", "512"], lambda: examples.half_rows(16, 512)),
    "bytes": Recording(["bytes", "16"], lambda: examples.bytes_(16)),
}


def main() -> int:
    """Record what the command line asks for; the exit status is 1 when anything is not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="recordings to make (default: all)")
    parser.add_argument("--output", type=Path, default=golden.FOLDER, metavar="FOLDER", help="where they go")
    parser.add_argument("--replay", action="store_true", help="only make the profiles anew, from the traces")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(RECORDINGS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(RECORDINGS)}")
    names = options.names or list(RECORDINGS)
    if options.replay:
        for name in names:
            found = golden.replayed(golden.trace_file(name, options.output), workers=0)
            golden.write_profiles(name, found, options.output)
        return 0
    gpu = device.find()
    if isinstance(gpu, str):
        print(f"record.py: {gpu}", file=sys.stderr)
        return 1
    return record(names, options.output, gpu.architecture)


def record(names: list[str], output: Path, architecture: str) -> int:
    """Make the recordings called ``names`` and the manifest."""
    # Paths end up in line tables and profiles: a neutral place, and the sources by relative paths.
    place = Path(tempfile.gettempdir()) / "cuvein"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "examples", place / "examples")
    sources = sorted({f"examples/{RECORDINGS[name].program}.cu" for name in names})
    programs = build.compile_all(sources, place, place / "programs", architecture)

    entries: dict[str, Any] = golden.manifest(output).get("recordings", {})
    bad = 0
    for name in names:
        trace = place / "traces" / f"{name}.cvt"
        trace.parent.mkdir(exist_ok=True)
        found, faults = make(RECORDINGS[name], programs, trace, place / "profiles" / name)
        if faults:
            bad += 1
            print(f"{name}: not recorded", *faults, sep="\n  ", file=sys.stderr)
            continue
        golden.trace_file(name, output).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(trace, golden.trace_file(name, output))
        golden.write_profiles(name, found, output)
        if name == "softmax":
            DEMO.mkdir(exist_ok=True)
            shutil.copyfile(trace, DEMO / trace.name)
        data = trace.read_bytes()
        accesses = sum(sum(profile.coverage.accesses.values()) for profile in found)
        entries[name] = {
            "arguments": RECORDINGS[name].arguments,
            "launches": len(found),
            "accesses": accesses,
            "trace_bytes": len(data),
            "trace_sha256": hashlib.sha256(data).hexdigest(),
            **{key: value for key, value in summary.circumstances().items() if key != "versions"},
        }
        print(f"{name}: {len(found)} launches, {accesses} accesses, {len(data)} bytes of trace")
    document = {
        "format": "cuvein golden recordings",
        "version": 1,
        "recordings": dict(sorted(entries.items())),
    }
    output.mkdir(parents=True, exist_ok=True)
    (output / golden.MANIFEST).write_text(json.dumps(document, indent=1) + "\n")
    if sum(entry["trace_bytes"] for entry in entries.values()) > ALL_TRACES:
        print(f"record.py: the traces take more than {ALL_TRACES} bytes together", file=sys.stderr)
        bad += 1
    return 1 if bad else 0


def make(
    recording: Recording, programs: dict[str, Path], trace: Path, folder: Path
) -> tuple[list[LaunchProfile], list[str]]:
    """Run one example; returns the profiles that its trace replays to, and what is wrong with them."""
    program, *arguments = recording.arguments
    run = session.profile(folder, [str(programs[program]), *arguments], "--trace", str(trace))
    if (run.outcome.status, run.outcome.stdout) != (0, b"ok\n"):
        return [], [str(run.outcome)]
    live = run.process.profiles
    found = golden.replayed(trace, workers=1)
    faults = []
    if trace.stat().st_size > LARGEST_TRACE:
        faults.append(f"the trace has {trace.stat().st_size} bytes, more than {LARGEST_TRACE}")
    if [graph(profile) for profile in found] != [graph(profile) for profile in live]:
        faults.append("the replay differs from the live run")
    expected = recording.expected() if recording.expected else {}
    source = ROOT / "examples" / f"{program}.cu"
    for profile in found:
        faults.extend(violations(profile))
        if profile.incomplete:
            faults.append(profile.incomplete)
        kernel = profile.launch.kernel.name.split("(")[0]
        if expected:
            table = lines.table(run.process.module(profile), source)
            faults.extend(planted.differences(profile, table, expected.pop(kernel)))
    faults.extend(f"no profile of {kernel}" for kernel in expected)
    return found, faults


def graph(profile: LaunchProfile) -> tuple[Any, ...]:
    """What must be equal however a launch was analysed."""
    return profile.launch, profile.coverage, profile.nodes, profile.edges


if __name__ == "__main__":
    sys.exit(main())
