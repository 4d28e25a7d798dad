"""Records the small runs of the case studies; needs a GPU, nvcc and cuvein.

    python tests/golden/record_cases.py [--output FOLDER] [NAME ...]

Each program of ``examples/cases`` is built and run with its small arguments under ``cuvein run --trace``.
``cases/NAME-VARIANT.cvt`` are the traces, ``cases/manifest.json`` says when, where and from which commit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
sys.path[:0] = [str(TESTS), str(TESTS / "gpu"), str(ROOT / "benchmarks")]

from harness import build, device, session  # noqa: E402

import case_studies  # noqa: E402
import golden  # noqa: E402
import machine  # noqa: E402

if TYPE_CHECKING:
    from case_studies import Case

FOLDER = golden.FOLDER / "cases"
VARIANTS = ("before", "after")
ALL_TRACES = 1_500_000


def main() -> int:
    """Record what the command line asks for; the exit status is 1 when anything is not as it must be."""
    cases = case_studies.cases()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases to record (default: all)")
    parser.add_argument("--output", type=Path, default=FOLDER, metavar="FOLDER", help="where they go")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - cases.keys()):
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(cases)}")
    gpu = device.find()
    if isinstance(gpu, str):
        print(f"record_cases.py: {gpu}", file=sys.stderr)
        return 1
    # Paths end up in line tables and profiles: a neutral place, and the sources by relative paths.
    place = Path(tempfile.gettempdir()) / "cuvein-cases"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "examples", place / "examples")
    options.output.mkdir(parents=True, exist_ok=True)
    manifest = options.output / golden.MANIFEST
    entries: dict[str, Any] = json.loads(manifest.read_text())["recordings"] if manifest.exists() else {}
    chosen = [case for name, case in cases.items() if not options.names or name in options.names]
    bad = 0
    with ThreadPoolExecutor(max_workers=8) as pool:
        for found in pool.map(lambda case: record(case, place, options.output, gpu.architecture), chosen):
            if isinstance(found, str):
                print(found, file=sys.stderr)
                bad += 1
            else:
                entries |= found
    document = {
        "format": "cuvein case recordings",
        "version": 1,
        "recordings": dict(sorted(entries.items())),
    }
    manifest.write_text(json.dumps(document, indent=1) + "\n")
    size = sum(entry["trace_bytes"] for entry in entries.values())
    print(f"{len(entries)} recordings, {size} bytes")
    if size > ALL_TRACES:
        print(f"record_cases.py: the traces take more than {ALL_TRACES} bytes together", file=sys.stderr)
        bad += 1
    return 1 if bad else 0


def record(case: Case, place: Path, output: Path, architecture: str) -> dict[str, Any] | str:
    """Record both programs of a case; returns their entries of the manifest, or why there is none."""
    sources = [place / case.source(variant).relative_to(ROOT) for variant in VARIANTS]
    to_build = [str(source.relative_to(place)) for source in sources if source.suffix == ".cu"]
    try:
        built = build.compile_all(to_build, place, place / "programs" / case.name, architecture)
        programs = {
            source.stem: [str(built[source.stem])] if source.stem in built else [sys.executable, str(source)]
            for source in sources
        }
        return {
            f"{case.name}-{variant}": trace(
                case, programs[variant], place, output / f"{case.name}-{variant}.cvt"
            )
            for variant in VARIANTS
        }
    except (RuntimeError, TimeoutError) as error:
        return f"{case.name}: not recorded: {error}"


def trace(case: Case, program: list[str], place: Path, file: Path) -> dict[str, Any]:
    """Record one program; returns what the manifest says of it."""
    options = ("--kernel-name", case.kernel, "--force", "--trace", str(file))
    run = session.profile(place / "profiles" / file.stem, [*program, *case.small], *options)
    if (run.outcome.status, run.outcome.stdout) != (0, b"ok\n"):
        raise RuntimeError(f"{file.stem}: {run.outcome}")
    if any(profile.incomplete for profile in run.process.profiles):
        raise RuntimeError(f"{file.stem}: a profile is incomplete")
    data = file.read_bytes()
    print(f"{file.stem}: {len(data)} bytes")
    return {
        "arguments": list(case.small),
        "trace_bytes": len(data),
        "trace_sha256": hashlib.sha256(data).hexdigest(),
        **{key: value for key, value in machine.describe().items() if key in _MACHINE},
    }


_MACHINE = ("date", "commit", "gpu", "driver", "cuda")


if __name__ == "__main__":
    sys.exit(main())
