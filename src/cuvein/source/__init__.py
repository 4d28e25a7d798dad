"""From a program counter to source line, instruction and data object."""

from __future__ import annotations

from cuvein.source.call_sites import CallPlace, Origin, launched_at, made_at, native_calls
from cuvein.source.cubin import Cubin, CubinFunction, CubinVariable
from cuvein.source.host_symbols import HostCall, HostSymbols
from cuvein.source.lines import Frame, LineCoverage, LineTable
from cuvein.source.locate import Locator, NodeSource
from cuvein.source.missing import Missing
from cuvein.source.modules import ModuleSource, ModuleStore
from cuvein.source.names import demangle, short
from cuvein.source.nvdisasm import Nvdisasm
from cuvein.source.objects import DataObject, ObjectTraffic, objects_of, touched, traffic_of
from cuvein.source.recording import record_run
from cuvein.source.sass import Disassembler, Instruction, cache_folder
from cuvein.source.text import (
    RecordedSource,
    SourceFile,
    SourceFinder,
    SourceMode,
    read_recorded_sources,
    record_sources,
)
from cuvein.source.trace_modules import TraceModules

__all__ = [
    "CallPlace",
    "Cubin",
    "CubinFunction",
    "CubinVariable",
    "DataObject",
    "Disassembler",
    "Frame",
    "HostCall",
    "HostSymbols",
    "Instruction",
    "LineCoverage",
    "LineTable",
    "Locator",
    "Missing",
    "ModuleSource",
    "ModuleStore",
    "NodeSource",
    "Nvdisasm",
    "ObjectTraffic",
    "Origin",
    "RecordedSource",
    "SourceFile",
    "SourceFinder",
    "SourceMode",
    "TraceModules",
    "cache_folder",
    "demangle",
    "launched_at",
    "made_at",
    "native_calls",
    "objects_of",
    "read_recorded_sources",
    "record_run",
    "record_sources",
    "short",
    "touched",
    "traffic_of",
]
