"""Where the parts that collection needs are installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from cuvein.collect.errors import CuveinError, Status

__all__ = [
    "SANITIZER_WHEEL",
    "monitor",
    "nvdisasm",
    "nvidia_folders",
    "patches",
    "python_path",
    "sanitizer",
    "wheel_version",
]

SANITIZER_WHEEL = "nvidia-cuda-sanitizer-api"
NATIVE = Path(__file__).resolve().parent.parent / "_native"


def monitor() -> Path:
    """Path of the library that the CUDA driver loads into the program.

    Raises
    ------
    CuveinError
        The native parts were never built.
    """
    return _native_part("libcuvein_monitor.so")


def patches() -> Path:
    """Folder of the device callbacks, one fatbin for each group of them.

    Raises
    ------
    CuveinError
        The native parts were never built.
    """
    if not any(NATIVE.glob("*.fatbin")):
        raise _missing(f"the device callbacks ({NATIVE}/*.fatbin)")
    return NATIVE


def sanitizer() -> Path:
    """Path of NVIDIA's Sanitizer library, from its wheel.

    Raises
    ------
    CuveinError
        The wheel is not installed next to cuvein.
    """
    for folder in nvidia_folders():
        candidate = folder / "compute-sanitizer" / "libsanitizer-public.so"
        if candidate.exists():
            return candidate
    raise CuveinError(
        Status.CANNOT_PROFILE,
        f"NVIDIA's Sanitizer library is missing; install it with: pip install {_requirement()}",
    )


def nvdisasm() -> Path | None:
    """Path of NVIDIA's disassembler, from its wheel, or ``None``."""
    candidates = (folder / "bin" / "nvdisasm" for folder in nvidia_folders())
    return next((candidate for candidate in candidates if candidate.exists()), None)


def python_path() -> Path:
    """Folder whose ``sitecustomize`` starts :mod:`cuvein.inprocess` in a Python program."""
    return NATIVE.parent / "inprocess" / "path"


def wheel_version(name: str) -> str | None:
    """Version of an installed distribution, or ``None``."""
    # The name of the folder with its metadata has the version, too, and is read sooner than they are.
    for folder in map(Path, sys.path):
        for found in folder.glob(f"{name.replace('-', '_')}-*.dist-info"):
            return found.stem.rpartition("-")[2]
    from importlib import metadata  # noqa: PLC0415 (slow to load)

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def wanted_sanitizer() -> str | None:
    """Version of the Sanitizer wheel that this cuvein was built for, e.g. ``"13.5.25"``."""
    name, _, version = _requirement().partition("==")
    return version if name == SANITIZER_WHEEL and version else None


def _requirement() -> str:
    from importlib import metadata  # noqa: PLC0415 (slow to load)

    for requirement in metadata.requires("cuvein") or []:
        if requirement.startswith(SANITIZER_WHEEL):
            return requirement.partition(";")[0].strip()
    return SANITIZER_WHEEL


def nvidia_folders() -> list[Path]:
    """Return the folders of NVIDIA's CUDA wheels, ``nvidia/cu13`` and the like, newest first."""
    spec = find_spec("nvidia")
    roots = list(spec.submodule_search_locations or []) if spec else []
    return sorted((folder for root in roots for folder in Path(root).glob("cu[0-9]*")), reverse=True)


def _native_part(name: str) -> Path:
    path = NATIVE / name
    if not path.exists():
        raise _missing(str(path))
    return path


def _missing(part: str) -> CuveinError:
    return CuveinError(
        Status.CANNOT_PROFILE, f"cuvein lacks {part}; install it again (in a source tree: make setup)"
    )
