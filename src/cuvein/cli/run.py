"""``cuvein run``: profile a program."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from cuvein import native
from cuvein.cli import messages, summary
from cuvein.collect.configuration import MOST_WORKERS, Selection
from cuvein.collect.launch import Request, launch

__all__ = ["run"]

_SELECTION = "Which launches to profile"
_OUTPUT = "What to write, and where"
_ENGINE = "Engine"
_LARGEST = 2**63 - 1
_LARGEST_RING = 1 << 16
_LARGEST_SHADOW = 1 << 22  # MiB


class Switch(str, enum.Enum):
    """A switch in the words of NVIDIA's tools."""

    ON = "on"
    OFF = "off"


class Engine(str, enum.Enum):
    """Where accesses are analysed."""

    AUTO = "auto"
    HOST = "host"
    GPU = "gpu"


class Source(str, enum.Enum):
    """What to keep of source files; see :func:`cuvein.source.record_run`."""

    NONE = "none"
    PATH = "path"
    EMBED = "embed"


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
            min=0, max=_LARGEST, help="Skip this many of the matching launches.", rich_help_panel=_SELECTION
        ),
    ] = 0,
    launch_count: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=_LARGEST,
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
            "the other launches). auto is host for a trace, which needs records, and gpu without.",
            rich_help_panel=_ENGINE,
        ),
    ] = Engine.AUTO,
    workers: Annotated[
        int,
        typer.Option(
            min=0,
            max=MOST_WORKERS,
            help="Threads that analyse the accesses; 0: one a processor.",
            rich_help_panel=_ENGINE,
        ),
    ] = 0,
    ring_size: Annotated[
        int,
        typer.Option(
            metavar="MIB",
            min=0,
            max=_LARGEST_RING,
            help="Memory of the ring between GPU and host in MiB; 0: chosen for you.",
            rich_help_panel=_ENGINE,
        ),
    ] = 0,
    shadow_size: Annotated[
        int,
        typer.Option(
            metavar="MIB",
            min=0,
            max=_LARGEST_SHADOW,
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
    if no_profile and trace is None:
        raise typer.BadParameter("nothing would be kept: --no-profile needs --trace FILE")
    if no_profile and output is not None:
        raise typer.BadParameter("--output is for profiles, which --no-profile does not write")
    if engine is Engine.GPU and trace is not None:
        raise typer.BadParameter("--engine gpu makes no records for a trace; leave out one of the two")
    request = Request(
        program=command[0],
        arguments=command[1:],
        selection=Selection(
            kernel_name=_expression("--kernel-name", kernel_name),
            exclude_kernel_name=_expression("--exclude-kernel-name", exclude_kernel_name),
            launch_skip=launch_skip,
            launch_count=launch_count,
            profile_from_start=profile_from_start is Switch.ON,
            nvtx_include=tuple(_utf8("--nvtx-include", name) for name in nvtx_include or ()),
        ),
        output=output,
        force=force,
        trace=trace,
        profile=not no_profile,
        on_gpu=engine is Engine.GPU or (engine is Engine.AUTO and trace is None),
        call_sites=call_sites,
        merge_launches=merge_launches,
        workers=workers,
        ring_bytes=ring_size << 20,
        shadow_bytes=shadow_size << 20,
    )
    result = launch(request, messages.warn)
    told = summary.of_run(request, result)
    if result.output is not None and source is not Source.NONE:
        from cuvein.source import record_run  # noqa: PLC0415 (readers of machine code; most runs need none)

        for sentence in record_run(result.output, source.value, source_roots or ()):
            told.complain(sentence)
    for line in told.problems if quiet else told.lines:
        messages.say(line)
    raise typer.Exit(result.ending.shell_status or int(told.status))


def _expression(option: str, text: str | None) -> str | None:
    if text is None:
        return None
    expression = _utf8(option, text.removeprefix("regex:"))
    try:
        native.check_regex(expression)
    except ValueError as error:
        raise typer.BadParameter(f"{option}: {error}") from None
    return expression


def _utf8(option: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise typer.BadParameter(f"{option}: the text is not valid UTF-8, as all names are") from None
    return text
