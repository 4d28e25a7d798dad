"""Import what Nsight Compute measured: its report file, or what ``ncu --csv`` prints."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuvein.findings.timing import KernelTime, Timing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cuvein.profile.model import Dimensions

__all__ = ["NsightComputeError", "read_timing"]

CYCLES = ("gpc__cycles_elapsed.max", "sm__cycles_elapsed.max", "Elapsed Cycles")
DURATION = ("gpu__time_duration.sum", "gpu__time_duration.avg", "Duration")
COUNTS = (
    "smsp__inst_executed.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
)
# One family of metrics with a value for each reason; families are not mixed, the first present is taken.
_STALL_FAMILIES = (
    re.compile(r"smsp__pcsamp_warps_issue_stalled_(\w+?)(?<!_not_issued)$"),
    re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio$"),
    re.compile(r"smsp__average_warp_latency_issue_stalled_(\w+)\.(?:ratio|pct)$"),
    re.compile(r"smsp__warps?_issue_stalled_(\w+)_per_warp_active\.pct$"),
)
_NOT_STALLED = {"selected"}
_NANOSECONDS = {"n": 1.0, "u": 1e3, "m": 1e6, "": 1e9}
_MULTIPLES = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


class NsightComputeError(Exception):
    """The measurements cannot be read; the message is one sentence."""


def read_timing(path: Path | str) -> Timing:
    """Read measurements of Nsight Compute.

    Parameters
    ----------
    path
        A report (``.ncu-rep``), which needs NVIDIA's Python module ``ncu_report`` that comes with Nsight
        Compute (``extras/python``), or the text that ``ncu --import REPORT --csv --page raw`` (or ``--page
        details``) prints.

    Raises
    ------
    NsightComputeError
        If it cannot be read, or has neither cycles nor durations.
    """
    path = Path(path)
    if not path.exists():
        raise NsightComputeError(
            f"{path} does not exist; give a report of Nsight Compute or the output of ncu --csv."
        )
    if not path.is_file():
        raise NsightComputeError(f"{path} is not a file.")
    launches = list(_from_report(path) if path.suffix in (".ncu-rep", ".ncu-repz") else _from_csv(path))
    if not launches:
        raise NsightComputeError(f"{path} has no kernels.")
    kernels = _merge(launches)
    if not all(kernel.cycles for kernel in kernels) and not all(kernel.nanoseconds for kernel in kernels):
        raise NsightComputeError(
            f"{path} lacks {CYCLES[0]} and {DURATION[0]}; collect them with ncu --section SpeedOfLight or "
            f"--set full."
        )
    return Timing(kernels)


class _Launch:
    """Metrics of one launch by name, in base units."""

    def __init__(self, name: str, grid: Dimensions | None, block: Dimensions | None) -> None:
        self.name, self.grid, self.block = name, grid, block
        self.metrics: dict[str, float] = {}

    def add(self, metric: str, text: str, unit: str) -> None:
        value = _number(text)
        if value is not None:
            self.metrics[metric] = value * _scale(unit)


def _merge(launches: Iterable[_Launch]) -> list[KernelTime]:
    kernels: dict[tuple[object, ...], KernelTime] = {}
    stalls: dict[tuple[object, ...], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    stalled: dict[tuple[object, ...], int] = defaultdict(int)
    for launch in launches:
        key = (launch.name, launch.grid, launch.block)
        kernel = kernels.setdefault(key, KernelTime(launch.name, launch.grid, launch.block))
        kernel.launches += 1
        kernel.cycles += _first(launch.metrics, CYCLES)
        kernel.nanoseconds += _first(launch.metrics, DURATION)
        for count in COUNTS:
            if count in launch.metrics:
                kernel.counts[count] = kernel.counts.get(count, 0.0) + launch.metrics[count]
        shares = _stalls(launch.metrics)
        stalled[key] += bool(shares)
        for reason, share in shares.items():
            stalls[key][reason] += share
    for shape, kernel in kernels.items():
        kernel.stalls = {reason: share / stalled[shape] for reason, share in sorted(stalls[shape].items())}
    return list(kernels.values())


def _first(metrics: dict[str, float], names: Iterable[str]) -> float:
    return next((metrics[name] for name in names if name in metrics), 0.0)


def _stalls(metrics: dict[str, float]) -> dict[str, float]:
    for family in _STALL_FAMILIES:
        values = {match[1]: value for name, value in metrics.items() if (match := family.match(name))}
        values = {reason: value for reason, value in values.items() if reason not in _NOT_STALLED}
        total = sum(values.values())
        if total:
            return {reason: value / total for reason, value in values.items()}
    return {}


def _from_csv(path: Path) -> Iterator[_Launch]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise NsightComputeError(f"{path} cannot be read as text: {error}.") from None
    # What ncu and the program print themselves may stand before the table.
    lines = text.splitlines()
    start = next(
        (number for number, line in enumerate(lines) if '"Kernel Name"' in line or _bare_header(line)), None
    )
    if start is None:
        raise NsightComputeError(
            f'{path} has no column "Kernel Name"; make it with: ncu --import REPORT --csv --page raw.'
        )
    try:
        rows = list(csv.reader(line for line in lines[start:] if not line.startswith("==")))
    except csv.Error as error:
        raise NsightComputeError(f"{path} is not valid CSV: {error}.") from None
    header = rows[0]
    column = {name: position for position, name in enumerate(header)}
    return _long(column, rows[1:]) if "Metric Name" in column else _wide(header, column, rows[1:])


def _bare_header(line: str) -> bool:
    return "Kernel Name" in line.split(",")


def _wide(header: list[str], column: dict[str, int], rows: list[list[str]]) -> Iterator[_Launch]:
    """One row a launch, one column a metric; the first row holds the units."""
    units = [""] * len(header)
    name = column["Kernel Name"]
    for row in rows:
        if len(row) != len(header):
            continue
        if not row[name]:
            units = row
            continue
        launch = _Launch(row[name], *_shape(row, column))
        for metric, text, unit in zip(header, row, units, strict=True):
            launch.add(metric, text, unit)
        yield launch


def _long(column: dict[str, int], rows: list[list[str]]) -> Iterator[_Launch]:
    """One row a metric of a launch."""
    launches: dict[tuple[str, str], _Launch] = {}
    needed = max(
        column.get(name, 0) for name in ("Kernel Name", "Metric Name", "Metric Unit", "Metric Value")
    )
    if "Metric Value" not in column:
        return
    for row in rows:
        if len(row) <= needed or not row[column["Metric Name"]]:
            continue
        identifier = row[column["ID"]] if "ID" in column else ""
        key = (identifier, row[column["Kernel Name"]])
        if key not in launches:
            launches[key] = _Launch(row[column["Kernel Name"]], *_shape(row, column))
        unit = row[column["Metric Unit"]] if "Metric Unit" in column else ""
        launches[key].add(row[column["Metric Name"]], row[column["Metric Value"]], unit)
    yield from launches.values()


def _shape(row: list[str], column: dict[str, int]) -> tuple[Dimensions | None, Dimensions | None]:
    def dimensions(name: str) -> Dimensions | None:
        numbers = [int(part) for part in re.findall(r"\d+", row[column[name]])] if name in column else []
        return (numbers[0], numbers[1], numbers[2]) if len(numbers) == 3 else None

    return dimensions("Grid Size"), dimensions("Block Size")


def _number(text: str) -> float | None:
    """Read a number that ncu wrote for some locale: 1234.5, 1,234.5, 1.234,5 or 1.234.567."""
    text = text.strip().replace("\u00a0", "").replace("'", "")
    if not re.fullmatch(r"[-+]?[\d.,]+(?:[eE][-+]?\d+)?", text):
        return None
    dots, commas = text.count("."), text.count(",")
    if dots and commas:
        decimal = "." if text.rfind(".") > text.rfind(",") else ","
    elif dots:
        decimal = "." if dots == 1 else ""
    else:
        # A lone comma before three digits separates thousands, as ncu does unless told otherwise.
        decimal = "," if commas == 1 and not re.search(r",\d{3}$", text) else ""
    for separator in ".,":
        text = text.replace(separator, "." if separator == decimal else "")
    try:
        return float(text)
    except ValueError:
        return None


def _scale(unit: str) -> float:
    """Return the factor from a unit to nanoseconds, or to single cycles, instructions, sectors."""
    unit = unit.strip()
    match = re.fullmatch(r"([num]?)(?:s|sec|second|seconds)", unit)
    if match:
        return _NANOSECONDS[match[1]]
    match = re.fullmatch(r"([KkMGT])(?:cycle|inst|sector|warp)s?", unit)
    return _MULTIPLES[match[1].lower()] if match else 1.0


def _from_report(path: Path) -> Iterator[_Launch]:
    try:
        module: Any = import_module("ncu_report")
    except ImportError:
        raise NsightComputeError(
            f"Reading {path} needs the Python module ncu_report of Nsight Compute: add its folder "
            f"extras/python to PYTHONPATH, or give the output of: ncu --import {path} --csv --page raw."
        ) from None
    try:
        context = module.load_report(str(path))
        actions = [action for section in context for action in section]
    except Exception as error:  # NVIDIA's module raises whatever it likes
        raise NsightComputeError(f"{path} is no report that ncu_report can read: {error}.") from None
    for action in actions:
        yield _from_action(action)


def _from_action(action: Any) -> _Launch:
    def value(name: str) -> float | None:
        metric = action.metric_by_name(name)
        return None if metric is None else metric.as_double()

    def dimensions(what: str) -> Dimensions | None:
        sizes = [value(f"launch__{what}_dim_{axis}") for axis in "xyz"]
        if any(size is None for size in sizes):
            return None
        x, y, z = (int(size or 0) for size in sizes)
        return (x, y, z)

    launch = _Launch(action.name(), dimensions("grid"), dimensions("block"))
    wanted = {*CYCLES, *DURATION, *COUNTS}
    for name in action.metric_names():
        if name in wanted or any(family.match(name) for family in _STALL_FAMILIES):
            number = value(name)
            if number is not None:
                launch.metrics[name] = number
    return launch
