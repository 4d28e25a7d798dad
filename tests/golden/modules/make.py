"""Rebuild the modules of this folder and what nvdisasm says of their lines.

Usage: ``python make.py FOLDER``. FOLDER becomes part of the recorded paths; ``/kernels`` was used. Needs
nvcc, nvlink, ptxas and nvdisasm on ``PATH`` and the packages triton, nvidia-cuda-nvrtc and numba-cuda.
No GPU.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).parent
ARCHITECTURE = "sm_90"


def run(*command: object) -> None:
    """Run a tool; stop when it fails."""
    subprocess.run([str(part) for part in command], check=True)


def compile_cuda(build: Path) -> None:
    """Build what nvcc builds."""
    for name, source, *options in (
        ("lineinfo", "inlined.cu", "-lineinfo"),
        ("device_debug", "inlined.cu", "-G"),
        ("no_lines", "inlined.cu"),
        ("called", "called.cu", "-lineinfo"),
        ("called_device_debug", "called.cu", "-G"),
    ):
        run("nvcc", "-arch", ARCHITECTURE, "-cubin", *options, build / source, "-o", build / f"{name}.cubin")
    for part, source, *options in (
        ("kernel", "kernel_part.cu", "-lineinfo"),
        ("library", "library_part.cu", "-lineinfo"),
        ("library_no_lines", "library_part.cu"),
    ):
        output = build / f"{part}.o"
        run("nvcc", "-arch", ARCHITECTURE, "-rdc=true", "-cubin", *options, build / source, "-o", output)
    for name, library in (("linked", "library"), ("partial", "library_no_lines")):
        parts = (build / f"{part}.o" for part in ("kernel", library))
        run("nvlink", f"--arch={ARCHITECTURE}", *parts, "-o", build / f"{name}.cubin")


def compile_nvrtc(build: Path) -> None:
    """Build what NVRTC builds, from memory: the source has a name but need not exist as a file."""
    root = next(iter(importlib.util.find_spec("nvidia").submodule_search_locations))
    nvrtc = ctypes.CDLL(str(next(Path(root).glob("cu13/lib/libnvrtc.so.*"))))
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    text = (build / "runtime.cu").read_bytes()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"runtime.cu", 0, None, None) == 0
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture={ARCHITECTURE}".encode(), b"--generate-line-info")
    assert nvrtc.nvrtcCompileProgram(program, 2, options) == 0
    assert nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)) == 0
    cubin = ctypes.create_string_buffer(size.value)
    assert nvrtc.nvrtcGetCUBIN(program, cubin) == 0
    (build / "nvrtc.cubin").write_bytes(cubin.raw)


def compile_triton(build: Path) -> None:
    """Build what Triton builds."""
    sys.path.insert(0, str(build))
    triton, compiler, backend, kernels = (
        importlib.import_module(name)
        for name in ("triton", "triton.compiler", "triton.backends.compiler", "rows")
    )
    signature = {"out": "*fp32", "x": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = compiler.ASTSource(fn=kernels.rows, signature=signature, constexprs={"BLOCK": 256})
    kernel = triton.compile(source, target=backend.GPUTarget("cuda", 90, 32))
    (build / "triton.cubin").write_bytes(kernel.asm["cubin"])


def compile_numba(build: Path) -> None:
    """Build what Numba builds, for a GPU that is not there."""
    sys.path.insert(0, str(build))
    cuda, scale = importlib.import_module("numba.cuda"), importlib.import_module("scale")
    device = SimpleNamespace(compute_capability=(9, 0))
    for name in ("cudadrv.devices", "dispatcher", "api", "compiler"):
        module = importlib.import_module(f"numba.cuda.{name}")
        module.get_current_device = module.get_context = lambda: device
    floats = cuda.types.float32[:]
    text, _ = cuda.compile_ptx(
        scale.scale, (floats, floats, cuda.types.int32), lineinfo=True, cc=device.compute_capability
    )
    (build / "numba.ptx").write_text(text)
    run(
        "ptxas",
        "-arch",
        ARCHITECTURE,
        "--generate-line-info",
        build / "numba.ptx",
        "-o",
        build / "numba.cubin",
    )


def main() -> None:
    """Build everything, then ask nvdisasm."""
    build = Path(sys.argv[1]).resolve()
    shutil.copytree(HERE / "sources", build, dirs_exist_ok=True)
    # NVRTC and nvcc record the folder they run in.
    os.chdir(build)
    compile_cuda(build)
    compile_nvrtc(build)
    compile_triton(build)
    compile_numba(build)
    for cubin in sorted(build.glob("*.cubin")):
        shutil.copy(cubin, HERE / cubin.name)
        listing = subprocess.run(
            ["nvdisasm", "-c", "-g", "-gi", cubin], check=True, capture_output=True, text=True
        ).stdout
        (HERE / f"{cubin.stem}.nvdisasm.txt").write_text(listing)


if __name__ == "__main__":
    main()
