"""Running a program for ``cuvein run``, whose options come from :mod:`cuvein.cli.run` or ``quick``.

What is imported here the program waits for, so no more than its start needs.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

from cuvein.cli import messages
from cuvein.collect.configuration import Selection
from cuvein.collect.launch import Request, launch

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "LARGEST",
    "LARGEST_RING",
    "LARGEST_SHADOW",
    "Engine",
    "MisuseError",
    "Options",
    "Source",
    "Switch",
    "run",
]

INTERRUPTED = 128 + 2
"""The exit status of what Ctrl-C has ended: that of SIGINT."""
LARGEST = 2**63 - 1
LARGEST_RING = 1 << 16  # MiB
LARGEST_SHADOW = 1 << 22  # MiB


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


class Options(NamedTuple):
    """The command line; see :func:`cuvein.cli.run.run` for what the options mean."""

    command: list[str]
    kernel_name: str | None = None
    exclude_kernel_name: str | None = None
    launch_skip: int = 0
    launch_count: int | None = None
    profile_from_start: Switch = Switch.ON
    nvtx_include: list[str] | None = None
    output: Path | None = None
    trace: Path | None = None
    no_profile: bool = False
    merge_launches: bool = False
    force: bool = False
    source: Source = Source.NONE
    source_roots: list[Path] | None = None
    call_sites: bool = False
    quiet: bool = False
    engine: Engine = Engine.AUTO
    barrier_order: Switch = Switch.OFF
    workers: int = 0
    ring_size: int = 0
    shadow_size: int = 0


class MisuseError(Exception):
    """Options that make no sense, or not together; the text says why."""


def run(options: Options) -> int:
    """Run the program, say what came of it, and return the exit status.

    Raises
    ------
    MisuseError
        Before anything is done.
    CuveinError
        The program was not started.
    """
    request = _request(options)
    try:
        return _run(request, options)
    except KeyboardInterrupt:
        # While the program runs, Ctrl-C is the program's; here it ends what comes before or after.
        return INTERRUPTED


def _run(request: Request, options: Options) -> int:
    result = launch(request, messages.warn, _prepare_for_the_end)
    from cuvein.cli import summary  # noqa: PLC0415 (loaded while the program runs)

    told = summary.of_run(request, result)
    if result.output is not None and options.source is not Source.NONE:
        from cuvein.source import record_run  # noqa: PLC0415 (readers of machine code; most runs need none)

        for sentence in record_run(result.output, options.source.value, options.source_roots or ()):
            told.complain(sentence)
    for line in told.problems if options.quiet else told.lines:
        messages.say(line)
    return result.ending.shell_status or int(told.status)


def _prepare_for_the_end() -> None:
    from cuvein.cli import summary  # noqa: F401, PLC0415


def _request(options: Options) -> Request:
    if options.no_profile and options.trace is None:
        raise MisuseError("nothing would be kept: --no-profile needs --trace FILE")
    if options.no_profile and options.output is not None:
        raise MisuseError("--output is for profiles, which --no-profile does not write")
    if options.no_profile and options.source is not Source.NONE:
        raise MisuseError("--source is for profiles, which --no-profile does not write")
    if options.source_roots and options.source is Source.NONE:
        raise MisuseError("--source-root is of no use without --source path or --source embed")
    for folder in options.source_roots or ():
        if not folder.is_dir():
            raise MisuseError(f"--source-root: there is no folder {messages.printable(str(folder))}")
    if options.engine is Engine.GPU and options.trace is not None:
        raise MisuseError("--engine gpu makes no records for a trace; leave out one of the two")
    engine = Engine.HOST if options.trace is not None else options.engine
    return Request(
        program=options.command[0],
        arguments=options.command[1:],
        selection=Selection(
            kernel_name=_expression("--kernel-name", options.kernel_name),
            exclude_kernel_name=_expression("--exclude-kernel-name", options.exclude_kernel_name),
            launch_skip=options.launch_skip,
            launch_count=options.launch_count,
            profile_from_start=options.profile_from_start is Switch.ON,
            nvtx_include=tuple(_utf8("--nvtx-include", name) for name in options.nvtx_include or ()),
        ),
        output=options.output,
        force=options.force,
        trace=options.trace,
        profile=not options.no_profile,
        engine=engine.value,
        call_sites=options.call_sites,
        merge_launches=options.merge_launches,
        barrier_order=options.barrier_order is Switch.ON,
        workers=options.workers,
        ring_bytes=options.ring_size << 20,
        shadow_bytes=options.shadow_size << 20,
    )


def _expression(option: str, text: str | None) -> str | None:
    if text is None:
        return None
    expression = _utf8(option, text.removeprefix("regex:"))
    from cuvein import native  # noqa: PLC0415 (most runs need none of it)

    try:
        native.check_regex(expression)
    except ValueError as error:
        raise MisuseError(f"{option}: {error}") from None
    return expression


def _utf8(option: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise MisuseError(f"{option}: the text is not valid UTF-8, as all names are") from None
    return text
