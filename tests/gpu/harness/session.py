"""Running programs, plain and under ``cuvein run``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path  # noqa: TC003

from cuvein.profile import LaunchProfile, ProcessSummary, find, read, read_process

# Not the script `cuvein`, which is on no PATH when the package is only on PYTHONPATH.
CUVEIN: tuple[str, ...] = (sys.executable, "-c", "import sys; from cuvein.cli import main; sys.exit(main())")


@dataclass(frozen=True)
class Outcome:
    """How a program ended; a status below 0 is a signal."""

    status: int
    stdout: bytes
    stderr: bytes

    def __str__(self) -> str:
        """Show what is needed to see why a test failed."""
        return (
            f"status {self.status}\n--- stdout\n{self.stdout[-4000:].decode(errors='replace')}"
            f"\n--- stderr\n{self.stderr[-8000:].decode(errors='replace')}"
        )


def execute(
    command: list[str],
    timeout: float = 120,
    environment: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> Outcome:
    """Run a command to its end; whatever still runs of it after ``timeout`` seconds is killed.

    Raises
    ------
    TimeoutError
        When the time is up: in these tests, a hang.
    """
    process = subprocess.Popen(
        command,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        raise TimeoutError(
            f"{' '.join(command)} still ran after {timeout} s\n{Outcome(-9, stdout, stderr)}"
        ) from None
    return Outcome(process.returncode, stdout, stderr)


@dataclass(frozen=True)
class Process:
    """The folder of one profiled process."""

    folder: Path

    @cached_property
    def summary(self) -> ProcessSummary:
        """``process.json``."""
        return read_process(self.folder)

    @cached_property
    def profiles(self) -> list[LaunchProfile]:
        """Its launch profiles, in launch order."""
        if not list(self.folder.glob("launch-*.json")):
            return []
        return sorted((read(path) for path in find(self.folder)), key=lambda profile: profile.launch.sequence)

    def module(self, profile: LaunchProfile) -> Path:
        """The cubin that the kernel of ``profile`` is in."""
        return self.folder / "modules" / f"{profile.launch.kernel.module}.cubin"


@dataclass(frozen=True)
class Session:
    """One ``cuvein run``: how it ended and the folder it wrote."""

    outcome: Outcome
    folder: Path
    command: list[str] = field(default_factory=list)

    @cached_property
    def processes(self) -> list[Process]:
        """The profiled processes, by process id."""
        folders = self.folder.glob("process-*")
        return [Process(path) for path in sorted(folders, key=lambda path: int(path.name.split("-")[1]))]

    @property
    def process(self) -> Process:
        """The only process."""
        assert len(self.processes) == 1, f"{[p.folder.name for p in self.processes]}\n{self.outcome}"
        return self.processes[0]

    @property
    def profiles(self) -> list[LaunchProfile]:
        """The profiles of all processes."""
        return [profile for process in self.processes for profile in process.profiles]

    def kernel(self, name: str) -> LaunchProfile:
        """The only profile of the kernel called ``name`` (without parameters)."""
        found = [p for p in self.profiles if p.launch.kernel.name.split("(")[0].split()[-1] == name]
        names = [profile.launch.kernel.name for profile in self.profiles]
        assert len(found) == 1, f"{len(found)} profiles of {name} among {names}\n{self.outcome}"
        return found[0]


def profile(
    folder: Path,
    program: list[str],
    *options: str,
    engine: str | None = None,
    timeout: float = 120,
    environment: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> Session:
    """Run ``program`` under ``cuvein run`` with ``options``; profiles go to ``folder``."""
    chosen = ("--engine", engine) if engine else ()
    command = [*CUVEIN, "run", "--output", str(folder), *chosen, *options, "--", *program]
    return Session(execute(command, timeout, environment, cwd), folder, command)


def analyze(folder: Path, trace: Path, *options: str, timeout: float = 120) -> Session:
    """Replay a trace with ``cuvein analyze``; profiles go to ``folder``."""
    command = [*CUVEIN, "analyze", str(trace), "--output", str(folder), *options]
    return Session(execute(command, timeout), folder, command)
