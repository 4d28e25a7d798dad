"""The report as JSON, for programs that want the added-up numbers rather than the launch profiles."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cuvein.graph.labels import LABELS
from cuvein.report import style
from cuvein.report.origins import origin_document
from cuvein.report.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.profile.model import LaunchProfile
    from cuvein.report.summary import AccessKey, AccessSummary, KernelSummary

__all__ = ["FORMAT", "VERSION", "DocumentReport"]

FORMAT = "cuvein report"
VERSION = 1


class DocumentReport:
    """One JSON object; every number of the terminal report and all program counters are in it."""

    def render(self, profiles: Iterable[LaunchProfile]) -> str:
        """Make the report; see :class:`cuvein.report.Report`."""
        summary = summarise(profiles)
        document = {
            "format": FORMAT,
            "version": VERSION,
            "processes": [{"id": key, "arguments": words} for key, words in summary.programs.items()],
            "devices": summary.devices,
            "kernels": [_kernel(kernel) for kernel in summary.kernels],
        }
        return json.dumps(document, indent=2) + "\n"


def _kernel(kernel: KernelSummary) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "mangled": kernel.mangled,
        "module": kernel.module,
        "launches": [{"process": process, "sequence": sequence} for process, sequence in kernel.launches],
        "shapes": [
            {"grid": shape.grid, "block": shape.block, "cluster": shape.cluster, "launches": launches}
            for shape, launches in kernel.shapes.items()
        ],
        "launched_at": [
            {**(origin_document(origin) or {}), "launches": launches}
            for origin, launches in kernel.launched.most_common()
        ],
        "bytes": kernel.bytes,
        "traffic": {
            space: {label: labels[label] for label in LABELS if labels[label]}
            for space in style.SPACES
            if (labels := kernel.by_label(space))
        },
        "accesses": [_access(access) for access in kernel.heaviest()],
        "coverage": {
            "accesses": dict(kernel.analysed),
            "not_analysed": dict(kernel.not_analysed),
            "unknown_bytes": kernel.unknown_bytes,
            "lost_records": kernel.lost_records,
        },
        "incomplete": [
            {"sequence": sequence, "reason": sentence} for sequence, sentence in kernel.incomplete
        ],
    }


def _access(access: AccessSummary) -> dict[str, Any]:
    return {
        **_place(access.key),
        "asynchronous": access.asynchronous,
        "size": access.size,
        "executions": access.executions,
        "bytes": access.bytes,
        "unit": access.unit,
        "used": access.used,
        "ideal": access.ideal,
        "unordered": access.unordered,
        "reuse": [
            {"label": label, "bytes": size, "origin": _place(origin) if origin else None}
            for (label, origin), size in access.origins.items()
        ],
    }


def _place(key: AccessKey) -> dict[str, Any]:
    return {"function": key.function, "pc": key.pc, "space": key.space, "type": key.type}
