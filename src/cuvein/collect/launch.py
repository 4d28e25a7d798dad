"""Running a program under the monitor, from the checks beforehand to reading what it left."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cuvein.collect import configuration, driver, environment, executable, installation, output, process
from cuvein.collect.configuration import Selection
from cuvein.collect.errors import CuveinError, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cuvein.collect.outcome import Outcome

__all__ = ["Request", "Result", "launch"]


class Request(NamedTuple):
    """What to run and what to keep of it.

    Attributes
    ----------
    program, arguments
        The command line, untouched.
    selection
        Which launches to profile.
    output
        Folder for the profiles; ``None`` makes ``cuvein-PROGRAM-N`` in the working directory.
    force
        Replace what an earlier run left at ``output`` and ``trace``.
    trace
        Trace file to record, or ``None``.
    profile
        ``False`` records the trace only.
    engine
        Where accesses are analysed: see :func:`cuvein.collect.configuration.make`.
    call_sites
        Find out where launches and allocations are asked for.
    merge_launches
        One profile for all launches of a kernel with one shape.
    barrier_order
        The GPU engine follows what each block barrier orders; the host engine does so always.
    workers, ring_bytes, shadow_bytes
        Threads of the host engine, size of the ring, device memory for the GPU engine; 0 leaves them to the
        monitor.
    """

    program: str
    arguments: Sequence[str] = ()
    selection: Selection = Selection()
    output: Path | None = None
    force: bool = False
    trace: Path | None = None
    profile: bool = True
    engine: str = "host"
    call_sites: bool = False
    merge_launches: bool = False
    barrier_order: bool = False
    workers: int = 0
    ring_bytes: int = 0
    shadow_bytes: int = 0


class Result(NamedTuple):
    """How the program ended, what was collected, and where (``None``: nothing was kept)."""

    ending: process.Ending
    outcome: Outcome
    output: Path | None


def launch(
    request: Request, warn: Callable[[str], None], meanwhile: Callable[[], None] = lambda: None
) -> Result:
    """Run the program under the monitor and wait for its end.

    Parameters
    ----------
    request
        What to run.
    warn
        Called with sentences the user should see before the program starts.
    meanwhile
        Called when the program has started.

    Raises
    ------
    CuveinError
        The program was not started: it does not exist, profiling cannot work here, or nothing can be written.
    """

    def started() -> None:
        # Loading this takes longer than all that comes before, and the program need not wait for it.
        from cuvein.collect import outcome  # noqa: F401, PLC0415

        meanwhile()

    path = executable.find(request.program)
    monitor = installation.monitor()
    for sentence in [*_check_driver(), *environment.other_tools(os.environ, monitor)]:
        warn(sentence)
    with ExitStack() as cleanup:
        folder = _folder(request, cleanup)
        file = folder / output.CONFIGURATION
        variables = environment.prepare(
            environment.inherited(),
            monitor,
            file.absolute(),
            os.getpid(),
            python_path=installation.python_path() if request.call_sites else None,
        )
        try:
            if request.trace:
                # After the folder is made, since the trace may go into it.
                output.check_trace(request.trace, replace=request.force)
            configuration.write(
                configuration.make(
                    request.selection,
                    output=folder,
                    trace=request.trace,
                    profile=request.profile,
                    engine=request.engine,
                    call_sites=request.call_sites,
                    merge_launches=request.merge_launches,
                    barrier_order=request.barrier_order,
                    workers=request.workers,
                    ring_bytes=request.ring_bytes,
                    shadow_bytes=request.shadow_bytes,
                ),
                file,
            )
            ending = process.run(path, [request.program, *request.arguments], variables, started)
        except (CuveinError, KeyboardInterrupt):
            output.discard_if_empty(folder)
            raise
        from cuvein.collect import outcome  # noqa: PLC0415 (see above)

        found = outcome.read(folder)
        kept = request.profile and not output.discard_if_empty(folder)
        return Result(ending, found, folder if kept else None)


def _check_driver() -> list[str]:
    """Refuse where there is no driver at all; tell of one that is too old, which may still work."""
    try:
        loaded = driver.load()
    except driver.DriverError as error:
        raise CuveinError(
            Status.CANNOT_PROFILE,
            f"{error}, so CUDA programs cannot run here; cuvein doctor tells more. "
            "Recordings from another machine can be read here: cuvein analyze TRACE.",
        ) from None
    try:
        version = loaded.version()
    except driver.DriverError as error:
        return [str(error)]
    sentence = driver.misfit(version, installation.wheel_version(installation.SANITIZER_WHEEL))
    return [sentence] if sentence else []


def _folder(request: Request, cleanup: ExitStack) -> Path:
    if not request.profile:
        # The monitor's account of the processes is wanted even when only the trace is kept.
        import shutil  # noqa: PLC0415 (most runs need neither)
        import tempfile  # noqa: PLC0415

        try:
            folder = Path(tempfile.mkdtemp(prefix="cuvein-"))
        except OSError as error:
            raise CuveinError(
                Status.UNWRITABLE_OUTPUT, f"cannot make a temporary folder: {error.strerror}; set TMPDIR"
            ) from None
        cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
        return folder
    if request.output is None:
        return output.make_numbered(output.name_for(request.program), Path())
    return output.make(request.output, replace=request.force)
