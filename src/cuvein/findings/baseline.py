"""Known findings, so that a check speaks of new ones only."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Literal, cast

import msgspec

from cuvein.findings.files import read_bytes
from cuvein.findings.names import bare, without_parameters
from cuvein.patterns import Effect, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cuvein.findings.analysis import Report
    from cuvein.patterns import Finding

__all__ = ["Baseline", "BaselineError", "Known", "fingerprint", "read_baseline"]

SeverityWord = Literal["info", "low", "medium", "high"]
FORMAT = "cuvein baseline"
VERSION = 1


class BaselineError(Exception):
    """A baseline cannot be used; the message is one sentence."""


class Known(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A finding that is known. Everything but the fingerprint is for people."""

    fingerprint: str
    pattern: str
    kernel: str
    severity: SeverityWord
    summary: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    findings: list[Known]


class _Head(msgspec.Struct):
    format: str = ""
    version: int = 0


class Baseline:
    """A set of known findings. One that has become more severe than it was known is not among them."""

    def __init__(self, findings: Iterable[Known] = ()) -> None:
        self.findings = list(findings)
        self._severities: dict[str, Severity] = {}
        for known in self.findings:
            severity = Severity[known.severity.upper()]
            self._severities[known.fingerprint] = max(
                severity, self._severities.get(known.fingerprint, severity)
            )

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Baseline:
        """Make a baseline of the findings there are; those equal but for the launch shape are one."""
        known: dict[str, Known] = {}
        for finding in sorted(findings, key=lambda each: -each.severity):
            identity = fingerprint(finding)
            known.setdefault(
                identity,
                Known(
                    identity,
                    finding.pattern,
                    finding.kernel.name,
                    cast("SeverityWord", finding.severity.word),
                    finding.summary,
                ),
            )
        return cls(sorted(known.values(), key=lambda each: (each.kernel, each.pattern, each.fingerprint)))

    def __contains__(self, finding: Finding) -> bool:
        severity = self._severities.get(fingerprint(finding))
        return severity is not None and finding.severity <= severity

    def gone(self, findings: Iterable[Finding]) -> list[Known]:
        """Return what is known but not found any more."""
        found = {fingerprint(finding) for finding in findings}
        return [known for known in self.findings if known.fingerprint not in found]

    def unknown_kernels(self, report: Report) -> list[str]:
        """Return the kernels of the baseline that the report does not have."""
        seen = {bare(summary.kernel.name) for summary in report.kernels}
        missing = Counter(known.kernel for known in self.findings if bare(known.kernel) not in seen)
        return sorted(missing)

    def encode(self) -> bytes:
        """Return the file's contents."""
        document = _File(FORMAT, VERSION, self.findings)
        return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def fingerprint(finding: Finding) -> str:
    """Return what names a finding across builds and launch shapes.

    It is made of the pattern, the kernel without its parameters, and each instruction's function, space,
    type, size and ordinal among its like; not of PCs, node ids, numbers or line numbers, which change with
    every edit.
    """
    parts = [finding.pattern, finding.variant, without_parameters(finding.kernel.name)]
    places = [
        f"{without_parameters(place.function)} {place.space} {place.type} {place.size} {place.ordinal}"
        for place in finding.places
    ]
    # In a race the first is the later access; elsewhere the order follows numbers, which change.
    parts += places if finding.effect is Effect.CORRECTS else sorted(places)
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises
    ------
    BaselineError
        If it cannot be read, is something else, or was written by a later version. The message is one
        sentence.
    """
    try:
        data = read_bytes(path)
    except OSError as error:
        raise BaselineError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}.") from None
    try:
        head = msgspec.json.decode(data, type=_Head)
        if head.format != FORMAT:
            raise BaselineError(f"{path} is not a {FORMAT}; make one with cuvein check --write-baseline.")
        if head.version > VERSION:
            raise BaselineError(
                f"{path} is a {FORMAT} of version {head.version}, this cuvein reads up to version {VERSION}; "
                f"update "
                "cuvein to read it."
            )
        return Baseline(msgspec.json.decode(data, type=_File).findings)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BaselineError(f"{path} is damaged: {error}.") from None
