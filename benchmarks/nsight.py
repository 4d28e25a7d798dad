"""Hardware counters of a command's kernel launches, read with Nsight Compute's ``ncu``."""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Launch", "NsightError", "count", "parse"]

Dimensions = tuple[int, int, int]


class NsightError(Exception):
    """The counters cannot be read; the message says why and what to do."""


@dataclass(frozen=True)
class Launch:
    """One profiled launch: the kernel as ncu names it, its shape, its counters.

    A metric that ncu could not read for this launch is missing from ``counters``.
    """

    kernel: str
    grid: Dimensions
    block: Dimensions
    counters: dict[str, float]


def count(
    command: Sequence[str],
    metrics: Iterable[str],
    *,
    options: Sequence[str] = (),
    timeout: float = 300,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    cold: bool = False,
) -> list[Launch]:
    """Run ``command`` under ncu.

    Parameters
    ----------
    command
        The program and its arguments.
    metrics
        Names of metrics with their suffix, as ``smsp__inst_executed.sum``. Each pass of ncu over a kernel
        reads a few; the more there are, the more often every kernel is run.
    options
        Further options of ncu, to choose launches: ``--kernel-name``, ``--launch-skip``, ``--launch-count``.
    timeout
        Seconds after which ncu and the program are killed.
    cwd
        Where the program runs.
    environment
        Variables added to the program's environment.
    cold
        Whether the caches are emptied before a kernel runs, as ncu does unless told otherwise. What a kernel
        asks memory for, and its cycles, depend on that.

    Returns
    -------
    list of Launch
        In the order in which ncu profiled the launches.

    Raises
    ------
    NsightError
        When ncu is missing or may not read counters, when a metric does not exist, when the program fails or
        takes too long, when nothing was profiled.
    """
    ncu = shutil.which("ncu")
    if ncu is None:
        raise NsightError("There is no ncu on PATH; it comes with Nsight Compute and with the CUDA toolkit.")
    with tempfile.TemporaryDirectory(prefix="cuvein-ncu-") as folder:
        log = Path(folder) / "log"
        caches = ("--cache-control", "all" if cold else "none")
        line = [
            ncu,
            *_OPTIONS,
            *caches,
            "--log-file",
            str(log),
            "--metrics",
            ",".join(metrics),
            *options,
            *command,
        ]
        status, output = _run(line, timeout, cwd, environment)
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if status is None:
        raise NsightError(f"{command[0]} under ncu still ran after {timeout:g} s and was killed.")
    _raise_for(text + output, status, command)
    launches = parse(text)
    if not launches:
        raise NsightError(f"ncu profiled no launch of {command[0]}: {_last_line(text + output)}")
    return launches


# Locked clocks need rights that reading counters does not, and change no count.
_OPTIONS = (
    "--clock-control",
    "none",
    "--csv",
    "--page",
    "raw",
    "--print-units",
    "base",
)


def parse(text: str) -> list[Launch]:
    """Read what ``ncu --csv --page raw --print-units base`` prints; other lines may stand around the table.

    Raises
    ------
    NsightError
        When a row of the table cannot be understood.
    """
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    header, *rows = csv.reader(line for line in lines[start:] if line.startswith('"'))
    column = {name: position for position, name in enumerate(header)}
    if missing := {"Kernel Name", "Grid Size", "Block Size"} - column.keys():
        raise NsightError(f"The table of ncu has no column {sorted(missing)[0]!r}.")
    # Before the metrics come columns with fixed names, which have no double underscore.
    metrics = {name: position for name, position in column.items() if "__" in name}
    launches = []
    for row in rows:
        # The second row holds the units; one that was cut off belongs to a run that was killed.
        if len(row) != len(header) or not row[column["Kernel Name"]]:
            continue
        numbers = {name: _number(row[position]) for name, position in metrics.items()}
        launches.append(
            Launch(
                kernel=row[column["Kernel Name"]],
                grid=_dimensions(row[column["Grid Size"]]),
                block=_dimensions(row[column["Block Size"]]),
                counters={name: value for name, value in numbers.items() if value is not None},
            )
        )
    return launches


def _run(
    command: list[str], timeout: float, cwd: Path | None, environment: Mapping[str, str] | None
) -> tuple[int | None, str]:
    # Numbers are written for the locale: the C locale has no surprises.
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, **(environment or {}), "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        # ncu starts the program as a child of its own.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""
    return process.returncode, output


def _raise_for(text: str, status: int, command: Sequence[str]) -> None:
    if "ERR_NVGPUCTRPERM" in text:
        raise NsightError(
            "ncu may not read the GPU's counters: run as root, or allow it to all users as "
            "https://developer.nvidia.com/ERR_NVGPUCTRPERM says."
        )
    if match := re.search(r"==ERROR== Failed to find metric:? ?(\S+)", text):
        raise NsightError(f"ncu knows no metric {match[1]} on this GPU.")
    if match := re.search(r"==ERROR== The application returned an error code \((-?\d+)\)", text):
        raise NsightError(
            f"{command[0]} ended with status {match[1]} under ncu: {_last_line(text, marked=False)}"
        )
    if status:
        raise NsightError(f"ncu failed on {command[0]}: {_last_line(text)}")


def _last_line(text: str, *, marked: bool = True) -> str:
    """Return the last line that tells something: with ``marked`` one of ncu's own, if there is any."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith('"')]
    own = [line for line in lines if line.startswith(("==ERROR==", "==WARNING=="))]
    others = [line for line in lines if not line.startswith("==")]
    for chosen in (own, others) if marked else (others, own):
        if chosen:
            return re.sub(r"^==\w+== ", "", chosen[-1])
    return "it printed nothing."


def _number(text: str) -> float | None:
    """Read a number of the C locale, with commas between thousands; anything else (``n/a``) is none."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _dimensions(text: str) -> Dimensions:
    numbers = [int(part) for part in re.findall(r"\d+", text)]
    if len(numbers) != 3:
        raise NsightError(f"The table of ncu has {text!r} where a shape like (1, 1, 1) is expected.")
    return numbers[0], numbers[1], numbers[2]
