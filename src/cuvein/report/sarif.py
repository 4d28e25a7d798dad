"""The verdict of a check as SARIF 2.1.0, the format code hosts show beside the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import cuvein
from cuvein.findings.baseline import fingerprint
from cuvein.patterns import PATTERNS, Severity
from cuvein.report import findings_words as words
from cuvein.report.findings_document import encode, totals_document

if TYPE_CHECKING:
    from cuvein.findings.checking import Verdict
    from cuvein.patterns import Finding, Place

__all__ = ["SCHEMA", "sarif"]

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.HIGH: "error", Severity.MEDIUM: "warning", Severity.LOW: "note", Severity.INFO: "note"}
_RULES = {pattern.name: position for position, pattern in enumerate(PATTERNS)}


def sarif(verdict: Verdict) -> str:
    """Return the SARIF log of a check.

    Every finding is a result; its level is its severity's (high: error, medium: warning, else note). What is
    in the baseline has the baseline state ``unchanged``, what the rules ignore is suppressed with the rules'
    reason. An instruction whose source line is known has a physical location, any other only its kernel and
    function; notifications say why.
    """
    new = [*verdict.failing, *verdict.below]
    results = [_result(finding, "new") for finding in new]
    results += [_result(finding, "unchanged") for finding in verdict.known]
    for finding, entry in verdict.ignored:
        result = _result(finding, "new")
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": entry.reason}]
        results.append(result)
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "cuvein",
                        "version": cuvein.__version__,
                        "rules": [
                            {
                                "id": pattern.name,
                                "name": "".join(part.capitalize() for part in pattern.name.split("-")),
                                "shortDescription": {"text": pattern.title},
                                "fullDescription": {"text": f"{pattern.mechanism} {pattern.caveat}"},
                                "help": {"text": f"{pattern.mechanism}\n\nWhen not to: {pattern.caveat}"},
                                "properties": {"tags": ["gpu", "memory", pattern.scope]},
                            }
                            for pattern in PATTERNS
                        ],
                    }
                },
                "columnKind": "utf16CodeUnits",
                "results": results,
                "invocations": [
                    {
                        "executionSuccessful": True,
                        "toolExecutionNotifications": [
                            {"level": "warning", "message": {"text": f"Incomplete: {sentence}"}}
                            for sentence in verdict.report.incomplete
                        ]
                        + [
                            {"level": "note", "message": {"text": f"{sentence[0].upper()}{sentence[1:]}."}}
                            for sentence in verdict.report.lines_missing
                        ],
                    }
                ],
            }
        ],
    }
    return encode(log)


def _result(finding: Finding, state: str) -> dict[str, Any]:
    text = " ".join(
        part
        for part in (
            f"{words.heading(finding)} in {finding.kernel.name}.",
            words.context(finding),
            finding.summary,
            words.action(finding),
            words.time(finding),
            finding.mechanism,
        )
        if part
    )
    return {
        "ruleId": finding.pattern,
        "ruleIndex": _RULES[finding.pattern],
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [_location(finding, finding.places[0])],
        "relatedLocations": [
            {**_location(finding, place), "id": number, "message": {"text": words.instruction(place)}}
            for number, place in enumerate(finding.places[1:], 1)
        ],
        "partialFingerprints": {"cuvein/v1": fingerprint(finding)},
        "baselineState": state,
        "properties": {
            "severity": finding.severity.word,
            "effect": finding.effect.word,
            "scope": finding.scope,
            "launches": finding.launches,
            "removal": totals_document(finding.removal),
            "evidence": finding.evidence,
        },
    }


def _location(finding: Finding, place: Place) -> dict[str, Any]:
    location: dict[str, Any] = {
        "logicalLocations": [
            {
                "name": place.function,
                "fullyQualifiedName": f"{finding.kernel.name} / {place.function}+{place.pc:#x}",
                "kind": "function",
            }
        ]
    }
    if place.source is not None:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": _uri(place.source.file)},
            "region": {"startLine": max(1, place.source.line)},
        }
    return location


def _uri(file: str) -> str:
    """Return a file as a URI reference: relative paths stay relative, as code hosts want them."""
    quoted = quote(file, safe="/:@!$&'()*+,;=-._~", errors="surrogateescape")
    return f"file://{quoted}" if quoted.startswith("/") else quoted
