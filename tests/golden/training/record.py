"""Record the launches of a training step of PyTorch with their call sites; needs a GPU, PyTorch and cuvein.

    python tests/golden/training/record.py [--output FOLDER]

Writes ``step.jsonl.gz``, a launch profile a line. Modules are left out: those of PyTorch's libraries take
megabytes and have no lines. The one here was recorded on an H200 on 2026-11-30 with PyTorch 2.11.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from cuvein.profile import encode, read_all, violations

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def main() -> int:
    """Record; the exit status is 1 when the run is not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--output", type=Path, default=HERE, metavar="FOLDER", help="where it goes")
    options = parser.parse_args()
    # Paths end up in the recording: a neutral place, and below one for PyTorch.
    place = Path(tempfile.gettempdir()) / "cuvein"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    program = shutil.copy(ROOT / "examples" / "python" / "torch_train.py", place)
    cuvein = [sys.executable, "-c", "import sys; from cuvein.cli import main; sys.exit(main())", "run"]
    wanted = ["--call-sites", "--engine", "gpu", "--output", place / "profiles"]
    status = subprocess.run([*cuvein, *wanted, "--", sys.executable, program, "1"], check=False).returncode
    if status != 0:
        print(f"record.py: cuvein run ended with {status}", file=sys.stderr)
        return 1
    found = sorted(read_all(place / "profiles"), key=lambda profile: profile.launch.sequence)
    faults = [fault for profile in found for fault in violations(profile)]
    if faults:
        print("record.py:", *faults, sep="\n  ", file=sys.stderr)
        return 1
    options.output.mkdir(parents=True, exist_ok=True)
    lines = b"".join(encode(profile) for profile in found)
    for path, neutral in (
        (sysconfig.get_path("platlib"), "/usr/lib/python3/dist-packages"),
        (sys.executable, "/usr/bin/python3"),
        (str(Path(sys.executable).resolve()), "/usr/bin/python3"),
    ):
        lines = lines.replace(path.encode(), neutral.encode())
    data = gzip.compress(lines, mtime=0)
    (options.output / "step.jsonl.gz").write_bytes(data)
    print(f"{len(found)} launches, {len(data)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
