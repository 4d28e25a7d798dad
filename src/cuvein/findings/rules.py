"""What a check demands: the rules file and the options that override it."""

from __future__ import annotations

import re
import reprlib
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from cuvein.findings.files import read_bytes
from cuvein.patterns import PATTERNS, Severity, Thresholds, pattern_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from cuvein.patterns import Finding

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Bar", "Ignore", "Rules", "RulesError", "read_rules"]


class RulesError(Exception):
    """A rules file or option makes no sense; the message is one sentence."""


class Ignore(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Findings that do not count: all conditions given have to hold. ``reason`` is for people."""

    reason: str
    pattern: str | None = None
    kernel: str | None = None

    def matches(self, finding: Finding) -> bool:
        """Return whether a finding is to be ignored."""
        if self.pattern is not None and self.pattern != finding.pattern:
            return False
        names = (finding.kernel.name, finding.kernel.mangled)
        return self.kernel is None or any(re.search(self.kernel, name) for name in names)


class _File(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    fail_on: list[str] = []
    thresholds: dict[str, float] = {}
    ignore: list[Ignore] = []


class Bar:
    """What makes a check fail: severities from one up, patterns by name, or both.

    Parameters
    ----------
    words
        Severities (``high``), patterns (``race-candidate``), or ``never``.

    Raises
    ------
    RulesError
        If a word is none of these.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.severity: Severity | None = None
        self.patterns: set[str] = set()
        for word in words:
            if word == "never":
                continue
            if word.upper() in Severity.__members__:
                severity = Severity[word.upper()]
                self.severity = severity if self.severity is None else min(self.severity, severity)
                continue
            try:
                self.patterns.add(pattern_named(word).name)
            except ValueError:
                severities = ", ".join(each.word for each in Severity)
                patterns = ", ".join(each.name for each in PATTERNS)
                raise RulesError(
                    f"{word!r} is nothing to fail on: use a severity ({severities}), a pattern ({patterns}) "
                    f"or never."
                ) from None

    def reached_by(self, finding: Finding) -> bool:
        """Return whether a finding makes the check fail."""
        return finding.pattern in self.patterns or (
            self.severity is not None and finding.severity >= self.severity
        )

    def __str__(self) -> str:
        parts = sorted(self.patterns)
        if self.severity is not None:
            parts.insert(
                0, self.severity.word if self.severity is Severity.HIGH else f"{self.severity.word} or higher"
            )
        return ", ".join(parts) or "never"


class Rules:
    """The rules of a check.

    Attributes
    ----------
    bar
        What makes it fail; high by default.
    thresholds
        What the patterns compare with.
    ignore
        Findings that do not count.
    """

    def __init__(
        self,
        fail_on: Iterable[str] = (),
        thresholds: Mapping[str, float] | None = None,
        ignore: Iterable[Ignore] = (),
    ) -> None:
        words = list(fail_on)
        self.bar = Bar(words or ["high"])
        try:
            self.thresholds = Thresholds().changed(thresholds or {})
        except ValueError as error:
            raise RulesError(str(error)) from None
        self.ignore = list(ignore)
        for entry in self.ignore:
            _check(entry)

    def ignored(self, finding: Finding) -> Ignore | None:
        """Return the entry that says to ignore a finding, if any does."""
        return next((entry for entry in self.ignore if entry.matches(finding)), None)


def read_rules(path: Path | None, fail_on: Iterable[str] = (), thresholds: Iterable[str] = ()) -> Rules:
    """Read a rules file and apply options over it.

    Parameters
    ----------
    path
        A TOML file with ``fail-on``, ``[thresholds]`` and ``[[ignore]]``; ``None`` for none.
    fail_on
        Replaces the file's ``fail-on`` if not empty.
    thresholds
        ``NAME=VALUE``, over those of the file.

    Raises
    ------
    RulesError
        If the file cannot be read or a rule makes no sense. The message is one sentence.
    """
    file = _File() if path is None else _read(path)
    values: dict[str, float] = dict(file.thresholds)
    for option in thresholds:
        name, separator, number = option.partition("=")
        try:
            values[name.strip()] = float(number)
        except ValueError:
            separator = ""
        if not separator:
            raise RulesError(f"{option!r} is not a threshold; write NAME=VALUE, for example coalescing=2.")
    words = list(fail_on) or file.fail_on
    try:
        return Rules(words, values, file.ignore)
    except RulesError as error:
        raise RulesError(f"{path}: {error}" if path is not None else str(error)) from None


def _read(path: Path) -> _File:
    try:
        document: dict[str, Any] = tomllib.loads(read_bytes(path).decode().replace("\r\n", "\n"))
    except OSError as error:
        raise RulesError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}.") from None
    except UnicodeDecodeError:
        raise RulesError(f"{path} is not a text file.") from None
    except (ValueError, RecursionError) as error:  # a number too long and brackets too deep included
        raise RulesError(f"{path} is not valid TOML: {error}.") from None
    try:
        return msgspec.convert(document, _File)
    except msgspec.ValidationError as error:
        raise RulesError(f"{path} is not a rules file: {error}.") from None


def _check(entry: Ignore) -> None:
    if entry.pattern is None and entry.kernel is None:
        raise RulesError("An ignore entry has to name a pattern or a kernel.")
    try:
        if entry.pattern is not None:
            pattern_named(entry.pattern)
    except ValueError as error:
        raise RulesError(str(error)) from None
    try:
        re.compile(entry.kernel or "")
    except (re.error, OverflowError, RecursionError) as error:
        shown = reprlib.repr(entry.kernel)
        raise RulesError(f"{shown} is not a regular expression: {error}.") from None
