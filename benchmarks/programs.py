"""Programs of others: where their sources are, how they are built, with which input they run.

    python benchmarks/programs.py [--sources FOLDER] [--output FOLDER] [NAME...]

clones the repositories at the commits named here into ``build/programs/sources``, or takes them from
``FOLDER`` (one folder for each name in ``REPOSITORIES``), compiles the programs, writes their inputs and says
which failed.
``small`` input is for comparing counts, ``usual`` input for timing.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import inputs
from command_line import demand_known
from machine import ROOT, device
from machine import build as compiler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["PROGRAMS", "REPOSITORIES", "Built", "Program", "ProgramError", "Size", "build_all"]

Size = Literal["small", "usual"]
OUTPUT = ROOT / "build" / "programs"


@dataclass(frozen=True)
class Repository:
    """Where sources are: URL and commit."""

    url: str
    commit: str


REPOSITORIES = {
    "rodinia": Repository("https://github.com/yuhc/gpu-rodinia", "9c10d3ea16ddba2ba057cc3951a9efc4c2cc18a4"),
    "xsbench": Repository("https://github.com/ANL-CESAR/XSBench", "ba08e5221af6106252b866e50ea123c69d31a4e2"),
    "llm.c": Repository("https://github.com/karpathy/llm.c", "f1e2ace651495b74ae22d45d1723443fd00ecd3a"),
    "polybench": Repository(
        "https://github.com/cavazos-lab/PolyBench-ACC", "70ea4ca9047dc4ec9c3ca79b4c91b3b2cc1510e7"
    ),
}


class ProgramError(Exception):
    """A program cannot be fetched or built; the message says which and why."""


@dataclass(frozen=True)
class Input:
    """Arguments, split at spaces, and what writes the files they name."""

    arguments: str = ""
    write: Callable[[Path], None] | None = None


@dataclass(frozen=True)
class Program:
    """One program.

    ``name`` is ``repository/program``. ``sources`` are given to nvcc in ``folder``, which is relative to the
    repository, with ``options`` beside the common ones. ``edits`` are replacements (file, old, new) made in a
    copy of the sources: they make a run repeatable or change where the program looks for a file.
    ``launches`` bounds how many launches are compared.
    """

    name: str
    folder: str
    sources: str
    small: Input
    usual: Input | None = None
    options: str = ""
    edits: tuple[tuple[str, str, str], ...] = ()
    launches: int = 40

    @property
    def repository(self) -> str:
        """Its key in ``REPOSITORIES``."""
        return self.name.split("/")[0]


@dataclass(frozen=True)
class Built:
    """A program ready to run: the command, and the folder to run it in."""

    program: Program
    command: list[str]
    folder: Path


# What CUDA 13 no longer has. The fields of cudaDeviceProp are only printed.
_RENAMED = {
    "cudaThreadSynchronize": "cudaDeviceSynchronize",
    "cudaThreadExit": "cudaDeviceReset",
    "clockRate": "warpSize",
    "deviceOverlap": "asyncEngineCount",
}
_REPEATABLE = (("time(0)", "7"), ("malloc(", "calloc(1, "))
_FLAGS = ["-O3", "-lineinfo", "-w", *(f"-D{old}={new}" for old, new in _RENAMED.items())]


def _rodinia() -> list[Program]:
    wavelets = (
        "dwt_cuda/common.cu dwt_cuda/fdwt53.cu dwt_cuda/fdwt97.cu dwt_cuda/rdwt53.cu dwt_cuda/rdwt97.cu"
    )
    image = (("main.cu", "../../../data/srad/image.pgm", "image.pgm"),)
    # Their frames are made of memory that nobody has set.
    seed = tuple(("ex_particle_CUDA_float_seq.cu", *edit) for edit in _REPEATABLE)
    seed_naive = tuple(("ex_particle_CUDA_naive_seq.cu", *edit) for edit in _REPEATABLE)
    tree = "main.c util/num/num.c util/timer/timer.c util/cuda/cuda.cu kernel/kernel_gpu_cuda_wrapper.cu"
    boxes = "main.c util/num/num.c util/timer/timer.c util/device/device.cu kernel/kernel_gpu_cuda_wrapper.cu"
    return [
        Program(
            "rodinia/backprop",
            "cuda/backprop",
            "backprop_cuda.cu facetrain.c imagenet.c backprop.c",
            Input("4096"),
            Input("65536"),
        ),
        Program(
            "rodinia/bfs",
            "cuda/bfs",
            "bfs.cu",
            Input("graph.txt", inputs.graph(5000)),
            Input("graph.txt", inputs.graph(1_000_000)),
        ),
        Program(
            "rodinia/b+tree",
            "cuda/b+tree",
            f"{tree} kernel/kernel_gpu_cuda_wrapper_2.cu",
            Input("file keys.txt command commands.txt", inputs.keys(10_000, 200)),
            Input("file keys.txt command commands.txt", inputs.keys(1_000_000, 10_000)),
        ),
        Program(
            "rodinia/dwt2d",
            "cuda/dwt2d",
            f"main.cu dwt.cu components.cu {wavelets}",
            Input("image.rgb -d 128x128 -f -5 -l 2", inputs.random_bytes(3 * 128**2, "image.rgb")),
            Input("image.rgb -d 1024x1024 -f -5 -l 3", inputs.random_bytes(3 * 1024**2, "image.rgb")),
            # Its buffers for file names are a byte too short, which a compiler's checks would not let pass.
            options="-I. -U_FORTIFY_SOURCE",
            edits=(("main.cu", "../../data/dwt2d/", ""),),
        ),
        Program(
            "rodinia/gaussian",
            "cuda/gaussian",
            "gaussian.cu",
            Input("-s 64 -q"),
            Input("-s 1024 -q"),
            launches=12,
        ),
        Program(
            "rodinia/hotspot",
            "cuda/hotspot",
            "hotspot.cu",
            Input("64 2 8 temperature power out", inputs.floats(64**2, "temperature", "power")),
            Input("1024 2 20 temperature power out", inputs.floats(1024**2, "temperature", "power")),
        ),
        Program(
            "rodinia/hotspot3D",
            "cuda/hotspot3D",
            "3D.cu",
            Input("64 8 4 power temperature out", inputs.floats(8 * 64**2, "power", "temperature")),
            Input("512 8 100 power temperature out", inputs.floats(8 * 512**2, "power", "temperature")),
        ),
        Program("rodinia/lavaMD", "cuda/lavaMD", boxes, Input("-boxes1d 2"), Input("-boxes1d 10")),
        Program(
            "rodinia/lud",
            "cuda/lud/cuda",
            "lud.cu lud_kernel.cu ../common/common.c",
            Input("-s 128"),
            Input("-s 2048"),
            options="-I../common",
            launches=12,
        ),
        Program(
            "rodinia/nn",
            "cuda/nn",
            "nn_cuda.cu",
            Input("list.txt -r 5 -lat 30 -lng 90", inputs.records(10_000)),
            Input("list.txt -r 5 -lat 30 -lng 90", inputs.records(500_000)),
        ),
        Program("rodinia/nw", "cuda/nw", "needle.cu", Input("128 10"), Input("2048 10")),
        Program(
            "rodinia/particlefilter_float",
            "cuda/particlefilter",
            "ex_particle_CUDA_float_seq.cu",
            Input("-x 32 -y 32 -z 4 -np 512"),
            Input("-x 128 -y 128 -z 10 -np 1000"),
            edits=seed,
        ),
        Program(
            "rodinia/particlefilter_naive",
            "cuda/particlefilter",
            "ex_particle_CUDA_naive_seq.cu",
            Input("-x 32 -y 32 -z 4 -np 512"),
            Input("-x 128 -y 128 -z 10 -np 1000"),
            edits=seed_naive,
        ),
        Program(
            "rodinia/pathfinder",
            "cuda/pathfinder",
            "pathfinder.cu",
            Input("1000 20 5"),
            Input("100000 100 20"),
        ),
        Program(
            "rodinia/srad_v1",
            "cuda/srad/srad_v1",
            "main.cu",
            Input("2 0.5 128 128", inputs.image(458, 502)),
            Input("100 0.5 502 458", inputs.image(458, 502)),
            edits=image,
        ),
        Program(
            "rodinia/streamcluster",
            "cuda/streamcluster",
            "streamcluster_cuda_cpu.cpp streamcluster_cuda.cu streamcluster_header.cu",
            Input("10 20 16 1024 1024 100 none out 1"),
            Input("10 20 64 8192 8192 1000 none out 1"),
            launches=8,
        ),
    ]


def _polybench() -> list[Program]:
    def program(name: str, folder: str, sizes: str, source: str = "") -> Program:
        options = " ".join(f"-D{size}" for size in sizes.split())
        return Program(
            f"polybench/{name}",
            f"CUDA/{folder}",
            f"{source or name}.cu",
            Input(),
            options=f"-I{'../' * (folder.count('/') + 1)}utilities {options}",
            launches=12,
        )

    kernels = "linear-algebra/kernels"
    return [
        program("2DConvolution", "stencils/convolution-2d", "NI=256 NJ=256"),
        program("3DConvolution", "stencils/convolution-3d", "NI=64 NJ=64 NK=64"),
        program("bicg", f"{kernels}/bicg", "NX=512 NY=512"),
        program("correlation", "datamining/correlation", "MINI_DATASET"),
        program("gemm", f"{kernels}/gemm", "NI=128 NJ=128 NK=128"),
        program("gemver", f"{kernels}/gemver", "MINI_DATASET"),
        program("jacobi2D", "stencils/jacobi-2d-imper", "MINI_DATASET"),
        program("syr2k", f"{kernels}/syr2k", "NI=128 NJ=128"),
    ]


PROGRAMS = [
    *_rodinia(),
    Program(
        "xsbench/XSBench",
        "cuda",
        "Main.cu io.cu Simulation.cu GridInit.cu XSutils.cu Materials.cu",
        Input("-m event -s small -g 200 -l 5000"),
        Input("-m event -s small"),
        options="-std=c++17",
        # It knows the right result of the usual inputs only.
        edits=(("Main.cu", "return is_invalid_result;", "return 0;"),),
    ),
    Program(
        "llm.c/train_gpt2_fp32",
        ".",
        "train_gpt2_fp32.cu",
        Input(
            "-i tokens.bin -j tokens.bin -b 4 -t 64 -v 1000 -m 1 -s 1000 -g 1",
            inputs.gpt2(layers=1, heads=4, channels=64, vocabulary=500, length=64, steps=1),
        ),
        Input(
            "-i tokens.bin -j tokens.bin -b 4 -t 256 -v 1000 -m 1 -s 1000 -g 1",
            inputs.gpt2(layers=6, heads=6, channels=384, vocabulary=8000, length=256, steps=10),
        ),
        options="-std=c++17 --use_fast_math {cublas}",
        launches=60,
    ),
    *_polybench(),
]


def build_all(
    programs: Iterable[Program], size: Size, *, sources: Path | None = None, output: Path = OUTPUT
) -> tuple[list[Built], list[ProgramError]]:
    """Fetch what is missing, compile as many at a time as there are processors, write inputs.

    Parameters
    ----------
    programs
        Which; those without an input of this ``size`` are left out.
    size
        Which input.
    sources
        A folder with the repositories, by name; by default they are cloned into ``output/sources``.
    output
        Where everything goes.

    Returns
    -------
    tuple
        What is ready to run, in the order given, and what went wrong.
    """
    gpu = device.find()
    architecture = "sm_90" if isinstance(gpu, str) else gpu.architecture
    chosen = [program for program in programs if _input(program, size)]
    missing: dict[str, ProgramError] = {}
    if sources is None:
        sources = output / "sources"
        for name in sorted({program.repository for program in chosen}):
            if error := _fetch(REPOSITORIES[name], sources / name):
                missing[name] = error

    def make(program: Program) -> Built | ProgramError:
        if program.repository in missing:
            return missing[program.repository]
        try:
            return _build(program, size, sources / program.repository, output, architecture)
        except ProgramError as error:
            return error

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        done = list(pool.map(make, chosen))
    failed = {id(item): item for item in done if isinstance(item, ProgramError)}
    return [item for item in done if isinstance(item, Built)], list(failed.values())


def _input(program: Program, size: Size) -> Input | None:
    return program.small if size == "small" else program.usual


def _fetch(repository: Repository, folder: Path) -> ProgramError | None:
    if (folder / ".git").exists():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    for arguments in (
        ["init", "--quiet"],
        ["fetch", "--quiet", "--depth=1", repository.url, repository.commit],
        ["checkout", "--quiet", "FETCH_HEAD"],
    ):
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=900, check=False
        )
        if done.returncode:
            shutil.rmtree(folder)
            said = done.stderr.strip() or "git failed"
            return ProgramError(f"{repository.url} cannot be fetched: {said.splitlines()[-1]}")
    return None


def _build(program: Program, size: Size, repository: Path, output: Path, architecture: str) -> Built:
    nvcc = compiler.nvcc()
    if nvcc is None:
        raise ProgramError("There is no nvcc: install nvidia-cuda-nvcc, or put a CUDA toolkit on PATH.")
    source = repository / program.folder
    if not source.is_dir():
        raise ProgramError(f"{program.name}: {source} is missing.")
    place = output / program.name
    binary = place / "program"
    if not binary.exists():
        place.mkdir(parents=True, exist_ok=True)
        if program.edits:
            source = _edited(program, source, place / "sources")
        options = [part for word in program.options.split() for part in _expand(word)]
        command = [nvcc, *_FLAGS, f"-arch={architecture}", *options]
        # Another run that builds the same finds either nothing or all of it.
        partial = place / f"program.{os.getpid()}"
        command += ["-o", str(partial), *program.sources.split()]
        done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=900, check=False)
        if done.returncode:
            errors = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line.lower()]
            said = errors[0] if errors else done.stderr.strip()
            if "cublas" in said:
                said += " (install nvidia-cublas, or put a CUDA toolkit that has it on PATH)"
            raise ProgramError(f"{program.name} does not compile: {said}")
        partial.rename(binary)
    run = place / size
    given = _input(program, size)
    assert given is not None
    if not run.exists():
        run.mkdir()
        if given.write:
            given.write(run)
    return Built(program, [str(binary), *given.arguments.split()], run)


def _edited(program: Program, source: Path, copy: Path) -> Path:
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(source, copy)
    for name, old, new in program.edits:
        text = (copy / name).read_text(errors="surrogateescape")
        if old not in text:
            raise ProgramError(f"{program.name}: {name} does not contain {old!r}.")
        (copy / name).write_text(text.replace(old, new), errors="surrogateescape")
    return copy


def _expand(option: str) -> tuple[str, ...]:
    return _cublas() if option == "{cublas}" else (option,)


@functools.cache
def _cublas() -> tuple[str, ...]:
    """Return options of nvcc that find cuBLAS: its own toolkit's, or the one that pip installed."""
    toolkit = Path(compiler.nvcc() or "").resolve().parents[1]
    folders = [toolkit]
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec else []:
        folders += [Path(root) / "cu13", Path(root) / "cublas"]
    for folder in folders:
        for libraries in (folder / "lib64", folder / "lib"):
            found = sorted(libraries.glob("libcublas*.so*"))
            if found and (folder / "include" / "cublas_v2.h").exists():
                # pip leaves out the names without a version, which -lcublas would look for.
                names = {re.sub(r"\.so.*", "", path.name): path.name for path in reversed(found)}
                chosen = [f"-l:{names[name]}" for name in ("libcublas", "libcublasLt")]
                return (f"-I{folder / 'include'}", f"-L{libraries}", *chosen, f"-Xlinker=-rpath={libraries}")
    return ("-lcublas", "-lcublasLt")


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the programs that cuvein is measured on.")
    parser.add_argument(
        "--sources", type=Path, help="a folder with the repositories, instead of cloning them"
    )
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--size", choices=("small", "usual"), default="small")
    parser.add_argument("names", nargs="*", help="as rodinia/bfs; default: all")
    arguments = parser.parse_args()
    known = {program.name: program for program in PROGRAMS}
    demand_known(parser, arguments.names, known)
    chosen = [known[name] for name in arguments.names] or PROGRAMS
    sources = arguments.sources.absolute() if arguments.sources else None
    built, failed = build_all(chosen, arguments.size, sources=sources, output=arguments.output.absolute())
    for item in built:
        print(f"{item.program.name}: cd {item.folder} && {' '.join(item.command)}")
    for error in failed:
        print(error, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
