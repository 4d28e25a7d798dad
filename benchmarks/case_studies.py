"""The case studies: what ``examples/cases/NAME/expect.json`` says, and what two profiles say of it."""

from __future__ import annotations

import difflib
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import counts
from cuvein.findings.comparison import compare, read_run
from cuvein.findings.locating import LinesBeside
from cuvein.graph import Totals
from cuvein.graph.labels import index_of
from cuvein.profile import find

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.findings.combining import NodeKey
    from cuvein.findings.comparison import Comparison, Run
    from cuvein.patterns import Finding

__all__ = [
    "BUSY",
    "FOLDER",
    "LATENCY",
    "METRICS",
    "PIPE",
    "QUANTITIES",
    "STALLS",
    "Case",
    "Quantity",
    "cases",
    "compared",
]

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "cases"


@dataclass(frozen=True)
class Quantity:
    """What a fix takes away: where the graph has it, and the counters that show it.

    ``part`` and ``spaces`` are the graph's. ``None`` is for what memory is asked for behind the caches, which
    no access shows: there the graph says what has to be read at least, the bytes that a read is the first to
    touch, and predicted is that all beyond it goes.
    """

    part: Literal["instructions", "wavefronts", "sectors"] | None
    spaces: tuple[str, ...]
    metrics: tuple[str, ...]


def _instructions(*operations: str) -> tuple[str, ...]:
    return tuple(f"smsp__sass_inst_executed_op_{operation}.sum" for operation in operations)


_GLOBAL = _instructions("global_ld", "global_st", "global_atom", "global_red")
_SHARED = _instructions("shared_ld", "shared_st", "shared_atom")
_LOCAL = _instructions("local_ld", "local_st")
_SECTORS = tuple(
    counter
    for kind in ("load", "store", "atomic")
    for counter in counts.QUANTITIES[f"global {kind} sectors"].counters
)
QUANTITIES: dict[str, Quantity] = {
    "memory instructions": Quantity(
        "instructions", ("global", "shared", "local"), (*_GLOBAL, *_SHARED, *_LOCAL)
    ),
    "global instructions": Quantity("instructions", ("global",), _GLOBAL),
    "shared instructions": Quantity("instructions", ("shared",), _SHARED),
    "local instructions": Quantity("instructions", ("local",), _LOCAL),
    "shared wavefronts": Quantity(
        "wavefronts", ("shared",), ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",)
    ),
    # Those of atomics by the counters that take a sector once an instruction, as the graph does.
    "global sectors": Quantity("sectors", ("global",), _SECTORS),
    "local sectors": Quantity(
        "sectors",
        ("local",),
        tuple(f"l1tex__t_sectors_pipe_lsu_mem_local_op_{kind}.sum" for kind in ("ld", "st")),
    ),
    "bytes read from DRAM": Quantity(None, ("global",), ("dram__bytes_read.sum",)),
}
TRAFFIC = ("dram__bytes_read.sum", "dram__bytes_write.sum")
L2 = "lts__t_sectors_srcunit_tex.sum"
# What a kernel waits for, which tells why one that does less takes as long: how busy the parts of the memory
# system are, what goes through their common pipe, and cycles of a warp between two instructions.
BUSY = {
    "DRAM": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "L2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "L1": "l1tex__throughput.avg.pct_of_peak_sustained_active",
}
PIPE = "smsp__inst_executed_pipe_lsu.sum"
LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
STALLS = {
    what: f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"
    for what, reason in {
        "global memory": "long_scoreboard",
        "shared memory and shuffles": "short_scoreboard",
        "the queue of that pipe": "mio_throttle",
        "the queue of global memory": "lg_throttle",
        "barriers": "barrier",
    }.items()
}
# These take a sector of an atomic again for each further lane that updates the same word.
TAGGED = tuple(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{kind}.sum" for kind in ("atom", "red"))
METRICS = sorted(
    {metric for quantity in QUANTITIES.values() for metric in quantity.metrics}
    | {*TRAFFIC, L2, *TAGGED, *BUSY.values(), PIPE, LATENCY, *STALLS.values()}
)


@dataclass(frozen=True)
class Case:
    """A case study.

    Attributes
    ----------
    name
        Its folder in ``examples/cases``.
    title
        What the kernel is and does wrong, in a few words.
    kernel
        A regular expression for the kernels it is about, as ``--kernel-name`` takes it.
    pattern
        The pattern of the finding that leads to the fix.
    fix
        What ``after.cu`` does instead, in a few words.
    quantity
        What that takes away: a key of ``QUANTITIES``.
    full, small
        Arguments of the programs: for measuring, and for recording a trace.
    removal, time, stays, notes
        Sentences for the page: why what went differs from the prediction, why no time was gained, why the
        finding is still there although it was answered, and what else is to be known.
    """

    name: str
    title: str
    kernel: str
    pattern: str
    fix: str
    quantity: str
    full: tuple[str, ...]
    small: tuple[str, ...]
    removal: str = ""
    time: str = ""
    stays: str = ""
    notes: str = ""

    def source(self, variant: str) -> Path:
        """Return the source of a variant: C++, or Python where kernels are written in it."""
        script = FOLDER / self.name / f"{variant}.py"
        return script if script.exists() else script.with_suffix(".cu")

    def changed_lines(self) -> int:
        """Return how many lines the fix changes, adds or removes."""
        before, after = (self.source(variant).read_text().splitlines() for variant in ("before", "after"))
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal")


def cases() -> dict[str, Case]:
    """Read all case studies."""
    found = {}
    for path in sorted(FOLDER.glob("*/expect.json")):
        values = json.loads(path.read_text())
        values |= {"full": tuple(values["full"]), "small": tuple(values["small"])}
        found[path.parent.name] = Case(name=path.parent.name, **values)
    return found


def compared(case: Case, before: Path, after: Path) -> dict[str, Any]:
    """Say what cuvein finds in ``before``, what it predicts, and what `cuvein diff` says of ``after``.

    Both folders hold the profiles of one run; everything is for the whole run.
    """
    comparison = compare(_run(before), _run(after))
    findings = comparison.before.report.findings
    ours = [finding for finding in findings if finding.pattern == case.pattern]
    quantity = QUANTITIES[case.quantity]
    part = quantity.part
    return {
        "findings": [
            {
                "pattern": finding.pattern,
                "severity": finding.severity.word,
                "effect": finding.effect.word,
                "share": round(finding.score, 4),
                "places": len(finding.places),
                "summary": finding.summary,
            }
            for finding in findings[:5]
        ],
        "rank": findings.index(ours[0]) + 1 if ours else None,
        "predicted": _predicted(ours, quantity.spaces, part) if part else None,
        "once": None if part else _read_first(comparison.before, quantity.spaces),
        "before": _work(comparison.before, quantity.spaces, part) if part else None,
        "after": _work(comparison.after, quantity.spaces, part) if part else None,
        "gone": _patterns(comparison, "gone"),
        "appeared": _patterns(comparison, "appeared"),
        "stayed": _patterns(comparison, "stayed"),
    }


def _run(folder: Path) -> Run:
    return read_run(find(folder), None, LinesBeside([folder]))


def _predicted(findings: Iterable[Finding], spaces: tuple[str, ...], part: str) -> int:
    """Add up what the findings say a fix removes; what two of them name at one instruction can go once."""
    most: dict[tuple[object, ...], int] = defaultdict(int)
    for finding in findings:
        for place, removal in zip(finding.places, finding.by_place, strict=True):
            if place.space in spaces:
                key = (finding.kernel, place.function, place.pc, place.space, place.type)
                most[key] = max(most[key], getattr(removal, part))
    return sum(most.values())


def _read_first(run: Run, spaces: tuple[str, ...]) -> int:
    """Return the bytes that were read before anything else touched them: they come from memory."""
    nodes = [node for kernel in run.kernels for node in kernel.nodes.values()]
    return sum(
        node.weights[index_of("cold")]
        for node in nodes
        if node.key.type == "read" and node.key.space in spaces
    )


def _work(run: Run, spaces: tuple[str, ...], part: str) -> int:
    def here(key: NodeKey) -> bool:
        return key.space in spaces

    works = [node.work for kernel in run.kernels for key, node in kernel.nodes.items() if here(key)]
    return int(getattr(sum(works, Totals()), part))


def _patterns(comparison: Comparison, what: str) -> dict[str, int]:
    """Count the findings that went, came or stayed, by pattern."""
    counts: dict[str, int] = defaultdict(int)
    for kernel in comparison.kernels:
        for change in getattr(kernel, what):
            counts[(change.before or change.after).pattern] += 1
    return dict(sorted(counts.items()))
