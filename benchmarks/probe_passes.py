"""Counts single copies and atomics anew, and compares them with what was counted and with the rules.

    python benchmarks/probe_passes.py [copies | atomics]

Runs ``kernels/passes.cu`` under Nsight Compute with the lanes of ``results/passes.json``, a launch each: half
a minute for the 392 of them. Needs an NVIDIA GPU that nothing else uses, nvcc and ncu. The exit status is 1
when a count is not the one that was kept.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import nsight
import passes
from command_line import demand_known
from machine import ROOT, build, demand_gpu

if TYPE_CHECKING:
    from pathlib import Path

COUNTERS = {
    "copies": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
    "atomics": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="copies, atomics; default: both")
    options = parser.parse_args()
    demand_known(parser, options.kinds, COUNTERS)
    gpu = demand_gpu(parser)
    output = ROOT / "build" / "benchmarks"
    program = build.compile_all(["benchmarks/kernels/passes.cu"], ROOT, output, gpu.architecture)["passes"]
    same = True
    for kind in options.kinds or COUNTERS:
        rows = passes.probes(kind)
        try:
            counted = count(program, rows, COUNTERS[kind])
        except nsight.NsightError as problem:
            print(f"probe_passes: {problem}", file=sys.stderr)
            return 1
        same &= show(kind, rows, counted)
    return 0 if same else 1


def line(row: dict[str, Any]) -> str:
    """Write an instruction and its lanes as the program reads them."""
    if "operation" in row:
        lanes = [(place, 0, 4) for place in row["shared"]]
        name = row["operation"]
    else:
        lanes = list(zip(row["shared"], row["global"], row["read"], strict=True))
        cached = row["instruction"].startswith("cp.async.ca")
        name = f"{'ca' if cached else 'cg'}{row['size']}{'fill' if 'fill' in row['instruction'] else ''}"
    numbers = ((0, 0, -1) if lane[0] is None else lane for lane in lanes)
    return " ".join([name, *(str(number) for lane in numbers for number in lane)])


def count(program: Path, rows: list[dict[str, Any]], counter: str) -> list[int]:
    """Run each row under ncu; its count."""
    with tempfile.NamedTemporaryFile("w", prefix="cuvein-passes-", suffix=".txt") as file:
        file.writelines(line(row) + "\n" for row in rows)
        file.flush()
        launches = nsight.count([str(program), file.name], [counter])
    if len(launches) != len(rows):
        raise nsight.NsightError(f"ncu counted {len(launches)} launches of {len(rows)}.")
    return [round(launch.counters[counter]) for launch in launches]


def show(kind: str, rows: list[dict[str, Any]], counted: list[int]) -> bool:
    """Print what is not as it was; whether all is."""
    changed = [(row, now) for row, now in zip(rows, counted, strict=True) if now != row["wavefronts"]]
    for row, now in changed:
        what = row.get("operation") or f"{row['instruction']}, {row['size']} bytes"
        print(f"{what}, {row['name']}: {now} passes, {row['wavefronts']} before")
    print(f"{kind}: {len(rows) - len(changed)} of {len(rows)} as before")
    return not changed


if __name__ == "__main__":
    sys.exit(main())
