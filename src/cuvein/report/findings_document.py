"""Findings as JSON, for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from cuvein.findings.baseline import fingerprint
from cuvein.report.origins import origin_document

if TYPE_CHECKING:
    from cuvein.findings.analysis import Report
    from cuvein.findings.checking import Verdict
    from cuvein.graph import Totals
    from cuvein.patterns import Finding, Kernel, Place, SourceLine

__all__ = [
    "FORMAT",
    "VERSION",
    "encode",
    "finding_document",
    "findings_document",
    "source_document",
    "verdict_document",
]

FORMAT = "cuvein findings"
VERSION = 1


def findings_document(report: Report) -> dict[str, Any]:
    """Return the analysed run: totals, kernels, ranked findings."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "profiles": report.profiles,
        "incomplete": report.incomplete,
        "totals": totals_document(report.totals),
        "kernels": [
            {
                **_kernel(summary.kernel),
                "launches": summary.launches,
                "incomplete": summary.incomplete,
                "totals": totals_document(summary.totals),
            }
            for summary in report.kernels
        ],
        "lines_missing": report.lines_missing,
        "findings": [finding_document(finding) for finding in report.findings],
    }


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """Return the analysed run with the verdict: each finding has a ``state``."""
    states = {id(finding): "fails" for finding in verdict.failing}
    states |= {id(finding): "below" for finding in verdict.below}
    states |= {id(finding): "known" for finding in verdict.known}
    states |= {id(finding): "ignored" for finding, _ in verdict.ignored}
    document = findings_document(verdict.report)
    for entry, finding in zip(document["findings"], verdict.report.findings, strict=True):
        entry["state"] = states[id(finding)]
    document["verdict"] = {
        "passed": verdict.passed,
        "fail_on": str(verdict.bar),
        "failing": len(verdict.failing),
        "gone": [msgspec.to_builtins(known) for known in verdict.gone],
    }
    return document


def finding_document(finding: Finding) -> dict[str, Any]:
    """Return one finding with all its numbers."""
    return {
        "fingerprint": fingerprint(finding),
        "pattern": finding.pattern,
        "variant": finding.variant or None,
        "title": finding.title,
        "scope": finding.scope,
        "severity": finding.severity.word,
        "effect": finding.effect.word,
        "score": finding.score,
        "kernel": _kernel(finding.kernel),
        "launches": finding.launches,
        "of_launches": finding.of_launches,
        "profiles": finding.profiles,
        "places": [
            {**_place(place), "removal": totals_document(part)}
            for place, part in zip(finding.places, finding.by_place, strict=True)
        ],
        "launched_at": [
            {**(origin_document(origin) or {}), "launches": launches} for origin, launches in finding.launched
        ],
        "objects": [
            {
                "name": data_object.name,
                "kind": data_object.kind,
                "size": data_object.size,
                "bytes": size,
                "made_at": origin_document(data_object.origin),
            }
            for data_object, size in finding.objects
        ],
        "summary": finding.summary,
        "evidence": finding.evidence,
        "removal": totals_document(finding.removal),
        "shares": msgspec.to_builtins(finding.shares),
        "time_share": finding.time_share,
        "stall_share": finding.stall_share,
        "mechanism": finding.mechanism,
        "caveat": finding.caveat,
    }


def totals_document(totals: Totals) -> dict[str, int]:
    """Return the four quantities by name."""
    return {
        "instructions": totals.instructions,
        "wavefronts": totals.wavefronts,
        "sectors": totals.sectors,
        "bytes": totals.bytes,
    }


def source_document(source: SourceLine | None) -> dict[str, Any] | None:
    """Return a source line."""
    return None if source is None else {"file": source.file, "line": source.line}


def encode(document: dict[str, Any]) -> str:
    """Return a document as text in ASCII; numbers JSON has not (infinity) become ``null``."""
    return json.dumps(msgspec.json.decode(msgspec.json.encode(document)), indent=2) + "\n"


def _kernel(kernel: Kernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "mangled": kernel.mangled,
        "module": kernel.module,
        "grid": kernel.grid,
        "block": kernel.block,
        "cluster": kernel.cluster,
        "shared_bytes": kernel.shared_bytes,
    }


def _place(place: Place) -> dict[str, Any]:
    return {
        "node": place.node,
        "function": place.function,
        "pc": place.pc,
        "space": place.space,
        "type": place.type,
        "size": place.size,
        "source": source_document(place.source),
        "source_missing": place.source_missing,
    }
