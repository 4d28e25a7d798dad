"""The verdict of a check as JUnit XML, which every CI system reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from cuvein.report import findings_words as words

if TYPE_CHECKING:
    from cuvein.findings.checking import Verdict
    from cuvein.patterns import Finding

__all__ = ["junit"]

# What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(verdict: Verdict) -> str:
    """Return the JUnit document of a check.

    A finding is a test case of the class that is its kernel: failed when it reaches the bar, skipped when it
    is known or ignored, passed when it is below the bar. A kernel without findings is one passed test case.
    The output of the suite says why source lines are missing.
    """
    suite = Xml.Element("testsuite", name="cuvein check")
    for finding in verdict.failing:
        case = _case(suite, finding)
        failure = Xml.SubElement(case, "failure", type=finding.pattern, message=_clean(finding.summary))
        failure.text = _clean(_details(finding))
    for finding in verdict.below:
        Xml.SubElement(_case(suite, finding), "system-out").text = _clean(_details(finding))
    for finding in verdict.known:
        Xml.SubElement(_case(suite, finding), "skipped", message="known: it is in the baseline")
    for finding, entry in verdict.ignored:
        Xml.SubElement(_case(suite, finding), "skipped", message=_clean(f"ignored: {entry.reason}"))
    found = {finding.kernel for finding in verdict.report.findings}
    for summary in verdict.report.kernels:
        if summary.kernel not in found:
            name = f"no findings ({words.shape(summary.kernel)})"
            Xml.SubElement(suite, "testcase", classname=_clean(summary.kernel.name), name=name)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(verdict.failing)))
    suite.set("errors", "0")
    suite.set("skipped", str(len(verdict.known) + len(verdict.ignored)))
    if verdict.report.lines_missing:
        notes = (f"Note: {sentence}." for sentence in verdict.report.lines_missing)
        Xml.SubElement(suite, "system-out").text = _clean("\n".join(notes))
    root = Xml.Element("testsuites", dict(suite.attrib))
    root.append(suite)
    Xml.indent(root)
    # Other characters than ASCII become references, so that the text survives any output encoding.
    body = Xml.tostring(root, encoding="us-ascii", xml_declaration=False).decode("ascii")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _case(suite: Xml.Element, finding: Finding) -> Xml.Element:
    name = f"{words.heading(finding)} at {words.location(finding.places[0])} ({words.shape(finding.kernel)})"
    case = Xml.SubElement(suite, "testcase", classname=_clean(finding.kernel.name), name=_clean(name))
    source = finding.places[0].source
    if source is not None:
        case.set("file", _clean(source.file))
        case.set("line", str(source.line))
    return case


def _details(finding: Finding) -> str:
    places = [f"{words.location(place)}: {words.instruction(place)}" for place in finding.places]
    lines = [finding.summary, *places, words.context(finding), words.action(finding), words.time(finding)]
    lines += [f"Do: {finding.mechanism}", f"But: {finding.caveat}"]
    return "\n".join(line for line in lines if line)


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
