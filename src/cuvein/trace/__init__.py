"""Traces: the recorded access stream of a process. ``docs/trace-format.md`` describes the file."""

from cuvein.native import (
    DamagedError,
    ForeignError,
    InvalidError,
    NativeError,
    NewerError,
    SystemRefusedError,
    TraceWriter,
)
from cuvein.trace.builder import Recorder, make_launch, make_process
from cuvein.trace.reading import LaunchBegin, LaunchEnd, Module, Part, Records, read
from cuvein.trace.records import HEADER, Batch, Record
from cuvein.trace.summary import LaunchSummary, Summary, info
from cuvein.trace.writing import write

__all__ = [
    "HEADER",
    "Batch",
    "DamagedError",
    "ForeignError",
    "InvalidError",
    "LaunchBegin",
    "LaunchEnd",
    "LaunchSummary",
    "Module",
    "NativeError",
    "NewerError",
    "Part",
    "Record",
    "Recorder",
    "Records",
    "Summary",
    "SystemRefusedError",
    "TraceWriter",
    "info",
    "make_launch",
    "make_process",
    "read",
    "write",
]
