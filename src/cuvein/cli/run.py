"""``cuvein run``: profile a program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuvein.cli import running
from cuvein.cli.running import LARGEST, LARGEST_RING, LARGEST_SHADOW, Engine, Options, Source, Switch
from cuvein.cli.workers import useful

__all__ = ["run"]

_SELECTION = "Which launches to profile"
_OUTPUT = "What to write, and where"
_ENGINE = "Engine"


def run(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="PROGRAM",
            help="The program and its arguments, passed on untouched.",
            show_default=False,
        ),
    ],
    kernel_name: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Only kernels whose demangled or mangled name holds a match (ncu's 'regex:' is dropped).",
            rich_help_panel=_SELECTION,
        ),
    ] = None,
    exclude_kernel_name: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="Not these kernels.", rich_help_panel=_SELECTION),
    ] = None,
    launch_skip: Annotated[
        int,
        typer.Option(
            min=0, max=LARGEST, help="Skip this many of the matching launches.", rich_help_panel=_SELECTION
        ),
    ] = 0,
    launch_count: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=LARGEST,
            help="Then profile this many.",
            rich_help_panel=_SELECTION,
            show_default="all",
        ),
    ] = None,
    profile_from_start: Annotated[
        Switch,
        typer.Option(
            help="'off' waits for cudaProfilerStart and stops at cudaProfilerStop.",
            rich_help_panel=_SELECTION,
        ),
    ] = Switch.ON,
    nvtx_include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RANGE",
            help="Only launches inside an NVTX range of this name. May be repeated.",
            rich_help_panel=_SELECTION,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Folder for the profiles.",
            show_default="cuvein-PROGRAM-N",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also record every access, to be replayed with 'cuvein analyze' on any machine.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    no_profile: Annotated[
        bool, typer.Option("--no-profile", help="Record the trace only.", rich_help_panel=_OUTPUT)
    ] = False,
    merge_launches: Annotated[
        bool,
        typer.Option(
            "--merge-launches",
            help="One profile for all launches of a kernel with one grid, block and shared memory.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            "-f",
            help="Replace the profiles and the trace of an earlier run.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False,
    source: Annotated[
        Source,
        typer.Option(
            help="Keep the source files of the profiled instructions: their text, or their hash only.",
            rich_help_panel=_OUTPUT,
        ),
    ] = Source.NONE,
    source_roots: Annotated[
        list[Path] | None,
        typer.Option(
            "--source-root",
            metavar="FOLDER",
            help="With --source: where to look for files that are not where they were compiled. "
            "May be repeated.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    call_sites: Annotated[
        bool,
        typer.Option(
            "--call-sites",
            help="Also record where the program asks for launches and memory: calls in C++ and Python, NVTX "
            "ranges, PyTorch operators, tensors.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Say nothing unless something is wrong.", rich_help_panel=_OUTPUT),
    ] = False,
    engine: Annotated[
        Engine,
        typer.Option(
            help="Where accesses are analysed: by the host, or on the GPU where that is exact (the host does "
            "the other launches). auto is host for a trace, which needs records, and gpu without, but for "
            "launches of 4 warps or less, with which the host is done sooner.",
            rich_help_panel=_ENGINE,
        ),
    ] = Engine.AUTO,
    barrier_order: Annotated[
        Switch,
        typer.Option(
            help="Whether the GPU engine follows which bytes each block barrier orders, for the finding "
            "removable-barrier; the host engine always does.",
            rich_help_panel=_ENGINE,
        ),
    ] = Switch.OFF,
    workers: Annotated[
        int,
        typer.Option(
            min=0,
            callback=useful,
            help="Threads that analyse the accesses; 0: one a processor.",
            rich_help_panel=_ENGINE,
        ),
    ] = 0,
    ring_size: Annotated[
        int,
        typer.Option(
            metavar="MIB",
            min=0,
            max=LARGEST_RING,
            help="Memory of the ring between GPU and host in MiB; 0: chosen for you.",
            rich_help_panel=_ENGINE,
        ),
    ] = 0,
    shadow_size: Annotated[
        int,
        typer.Option(
            metavar="MIB",
            min=0,
            max=LARGEST_SHADOW,
            help="Device memory that analysis on the GPU may take in MiB; 0: half of it, 32 GiB at most.",
            rich_help_panel=_ENGINE,
        ),
    ] = 0,
) -> None:
    """Run a program and profile the memory accesses of its CUDA kernels.

    The program runs as it does without cuvein: same arguments, input, output, signals and exit status. What
    cuvein has to say goes to standard error.

    For example:

    - `cuvein run -- ./softmax 1024`
    - `cuvein run --kernel-name softmax --launch-count 3 -- python train.py`
    - `cuvein run --trace run.cvt --no-profile -- ./app`
    """
    options = Options(
        command=command,
        kernel_name=kernel_name,
        exclude_kernel_name=exclude_kernel_name,
        launch_skip=launch_skip,
        launch_count=launch_count,
        profile_from_start=profile_from_start,
        nvtx_include=nvtx_include,
        output=output,
        trace=trace,
        no_profile=no_profile,
        merge_launches=merge_launches,
        force=force,
        source=source,
        source_roots=source_roots,
        call_sites=call_sites,
        quiet=quiet,
        engine=engine,
        barrier_order=barrier_order,
        workers=workers,
        ring_size=ring_size,
        shadow_size=shadow_size,
    )
    try:
        status = running.run(options)
    except running.MisuseError as error:
        raise typer.BadParameter(str(error)) from None
    raise typer.Exit(status)
