"""Tells CMake where NVIDIA's and the other build wheels put their files, as ``KEY=path`` lines."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path


def roots(package: str) -> list[Path]:
    """Every folder a (namespace) package is spread over."""
    spec = find_spec(package)
    return [Path(path) for path in (spec.submodule_search_locations or [])] if spec else []


def first(candidates: list[Path], what: str) -> Path:
    """The candidate that exists."""
    for candidate in candidates:
        if candidate.exists():
            return candidate
    sys.exit(f"{what} is missing; install the build requirements of pyproject.toml (make setup does)")


def main() -> None:
    """Print what the build needs."""
    cuda = [root / "cu13" for root in roots("nvidia")]
    nvcc = first([root / "bin" / "nvcc" for root in cuda], "nvcc (wheel nvidia-cuda-nvcc)")
    sanitizer = first(
        [root / "compute-sanitizer" / "include" / "sanitizer.h" for root in cuda],
        "the Sanitizer API (wheel nvidia-cuda-sanitizer-api)",
    )
    headers = first([root / "include" / "cuda.h" for root in cuda], "cuda.h (wheel nvidia-cuda-runtime)")
    nvtx = first([root / "include" / "nvtx3" / "nvToolsExt.h" for root in cuda], "NVTX (wheel nvidia-nvtx)")
    json = first(
        [root / "include" / "nlohmann" / "json.hpp" for root in roots("nlohmann_json")],
        "nlohmann/json.hpp (wheel nlohmann-json)",
    )
    site = [Path(path) for path in sys.path if path]
    zlib = first([root / "cmeel.prefix" / "include" / "zlib.h" for root in site], "zlib.h (wheel cmeel-zlib)")
    print(f"NVCC={nvcc}")
    print(f"SANITIZER_INCLUDE={sanitizer.parent}")
    print(f"CUDA_INCLUDE={headers.parent}")
    print(f"NVTX_INCLUDE={nvtx.parent.parent}")
    print(f"JSON_INCLUDE={json.parent.parent}")
    print(f"ZLIB_INCLUDE={zlib.parent}")
    print(f"ZLIB_LIBRARY={first(sorted((zlib.parent.parent / 'lib64').glob('libz.so')), 'libz.so')}")


if __name__ == "__main__":
    main()
