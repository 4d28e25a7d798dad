"""Record a training step of PyTorch with its call sites; needs a GPU, PyTorch and cuvein.

    python tests/golden/training/record.py [--output FOLDER]

The modules of PyTorch's libraries are left out of the trace: they take megabytes and have no lines.
"""

from __future__ import annotations

import argparse
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
HEADER, CHUNK = 16, struct.Struct("<IHHIIIIII")
MODULE = 2


def main() -> int:
    """Record and write ``training.cvt``; the exit status is 1 when the run is not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--output", type=Path, default=HERE, metavar="FOLDER", help="where it goes")
    options = parser.parse_args()
    # Paths end up in the recording: a neutral place.
    place = Path(tempfile.gettempdir()) / "cuvein"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    program = shutil.copy(ROOT / "examples" / "python" / "torch_train.py", place)
    trace = place / "training.cvt"
    cuvein = [sys.executable, "-c", "import sys; from cuvein.cli import main; sys.exit(main())", "run"]
    command = [*cuvein, "--call-sites", "--no-profile", "--trace", trace, "--", sys.executable, program, "1"]
    status = subprocess.run(command, cwd=place, check=False).returncode
    if status != 0:
        print(f"record.py: cuvein run ended with {status}", file=sys.stderr)
        return 1
    options.output.mkdir(parents=True, exist_ok=True)
    data = without_modules(trace.read_bytes())
    (options.output / "training.cvt").write_bytes(data)
    print(f"{len(data)} bytes")
    return 0


def without_modules(data: bytes) -> bytes:
    """Copy a trace chunk by chunk, see docs/trace-format.md."""
    result, at, ordinal = bytearray(data[:HEADER]), HEADER, 0
    while at < len(data):
        fields = list(CHUNK.unpack_from(data, at))
        end = at + CHUNK.size + fields[3]
        if fields[1] != MODULE:
            fields[6] = ordinal
            head = CHUNK.pack(*fields)[:-4]
            result += head + struct.pack("<I", zlib.crc32(head)) + data[at + CHUNK.size : end]
            ordinal += 1
        at = end
    return bytes(result)


if __name__ == "__main__":
    sys.exit(main())
