"""What the launcher tells the monitor: a JSON file whose path travels in ``CUVEIN_CONFIG``."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from cuvein.collect import installation
from cuvein.collect.errors import CuveinError, Status

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MOST_WORKERS", "Selection", "make", "write"]

# More than there are processors bring nothing, and each takes some 8 MB before the first access.
MOST_WORKERS = max(16, 4 * len(os.sched_getaffinity(0)))


class Selection(NamedTuple):
    """Which launches to profile; a launch has to pass every condition that is set.

    Attributes
    ----------
    kernel_name, exclude_kernel_name
        ECMAScript regular expressions, searched in the demangled and in the mangled name.
    launch_skip, launch_count
        Of the launches that pass, skip this many, then profile this many (``None``: all), in each process.
    profile_from_start
        ``False`` waits for ``cudaProfilerStart``.
    nvtx_include
        Profile only inside NVTX ranges of these names.
    """

    kernel_name: str | None = None
    exclude_kernel_name: str | None = None
    launch_skip: int = 0
    launch_count: int | None = None
    profile_from_start: bool = True
    nvtx_include: tuple[str, ...] = ()


def make(
    selection: Selection,
    *,
    output: Path,
    trace: Path | None,
    profile: bool,
    engine: str,
    call_sites: bool,
    merge_launches: bool,
    barrier_order: bool,
    workers: int,
    ring_bytes: int,
    shadow_bytes: int,
) -> dict[str, object]:
    """Put a configuration together: the document itself, of which the monitor reads exactly these names.

    Its ``root_pid`` is 0 because the program's pid is not known beforehand (``CUVEIN_ROOT`` tells it apart);
    ``ring_bytes`` and ``shadow_bytes`` are left out for the monitor's own choice.

    Parameters
    ----------
    selection
        Which launches.
    output
        Folder for profiles and the monitor's account of each process.
    trace
        Trace file, or ``None`` for none.
    profile
        ``False`` records the trace only.
    engine
        ``"gpu"`` analyses there what can be analysed there exactly, ``"host"`` nothing, ``"auto"`` as
        ``"gpu"`` but for launches of so few warps that the host engine is done sooner.
    call_sites
        Find out where launches and allocations are asked for.
    merge_launches
        One profile for all launches of a kernel with one shape.
    barrier_order
        The GPU engine follows what each block barrier orders; the host engine does so always.
    workers
        Threads of the host engine, 0 for one a processor.
    ring_bytes
        Size of the ring between GPU and host, 0 for the default.
    shadow_bytes
        Device memory that the GPU engine may take in each context, 0 for the default.

    Raises
    ------
    CuveinError
        A part of cuvein is not installed.
    """
    document: dict[str, object] = {
        "sanitizer": str(installation.sanitizer()),
        "sanitizer_version": installation.wheel_version(installation.SANITIZER_WHEEL),
        "patches": str(installation.patches()),
        "output": str(output.absolute()),
        "trace": str(trace.absolute()) if trace else None,
        "root_pid": 0,
        "engine": engine if profile else "none",
        "workers": workers,
        "kernel_name": selection.kernel_name,
        "exclude_kernel_name": selection.exclude_kernel_name,
        "launch_skip": selection.launch_skip,
        "launch_count": selection.launch_count,
        "profile_from_start": selection.profile_from_start,
        "nvtx_include": selection.nvtx_include,
        "allocations": True,
        "call_sites": call_sites,
        "merge_launches": merge_launches,
        "barrier_order": barrier_order,
    }
    if ring_bytes:
        document["ring_bytes"] = ring_bytes
    if shadow_bytes:
        document["shadow_bytes"] = shadow_bytes
    return document


def write(configuration: dict[str, object], path: Path) -> None:
    """Write the document.

    Raises
    ------
    CuveinError
        A path is not valid UTF-8, which JSON cannot hold, or the file cannot be written.
    """
    try:
        path.write_bytes(json.dumps(configuration, ensure_ascii=False).encode())
    except UnicodeEncodeError:
        raise CuveinError(
            Status.UNWRITABLE_OUTPUT,
            f"the path {configuration['output']!r} is not valid UTF-8; choose another --output and --trace",
        ) from None
    except OSError as error:
        raise CuveinError(Status.UNWRITABLE_OUTPUT, f"cannot write {path}: {error.strerror}") from None
