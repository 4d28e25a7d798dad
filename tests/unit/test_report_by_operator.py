"""The report by operator, and what findings and the other reports say of call sites."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from msgspec.structs import replace

from cuvein.findings.analysis import Analysis
from cuvein.graph import Graph
from cuvein.profile.model import Allocation, AllocationTraffic, CallSite, LaunchProfile, PythonFrame
from cuvein.report.by_finding import FindingDocument, FindingReport
from cuvein.report.by_line import LineReport
from cuvein.report.by_object import ObjectDocument, ObjectReport
from cuvein.report.by_operator import OperatorDocument, OperatorReport, by_operator
from cuvein.report.document import DocumentReport
from cuvein.report.listing import Listing
from cuvein.report.terminal import TerminalReport
from cuvein.source import Locator
from reference.sample import PROFILE

SOFTMAX = ["aten::softmax.int", "aten::_softmax"]
BACKWARD = ["SoftmaxBackward0", "aten::_softmax_backward_data"]


def launch(
    line: int | None, *operators: str, sequence: int = 1, address: int = 0x7F0000001000
) -> LaunchProfile:
    """Make a launch from a line of ``train.py`` that reads a tensor made there at line 12."""
    made = CallSite([PythonFrame("/me/train.py", 12, "forward")], [], [], ["aten::relu"])
    frames = [] if line is None else [PythonFrame("/me/train.py", line, "forward")]
    site = CallSite(frames, [], ["epoch 1"] if line else [], list(operators))
    allocations = [
        Allocation(0x7F0000000000, 1 << 20, "device"),
        Allocation(address, 512, "tensor", parent=0, shape=[2, 64], dtype="float32", site=1),
    ]
    nodes = [
        replace(node, allocations=[AllocationTraffic(1, node.bytes)] if node.space == "global" else [])
        for node in PROFILE.nodes
    ]
    return replace(
        PROFILE,
        id=f"host-1-2/{sequence}",
        nodes=nodes,
        launch=replace(
            PROFILE.launch,
            sequence=sequence,
            site=0,
            sites=[site, made],
            host_modules=[],
            allocations=allocations,
        ),
    )


RUN = [launch(31, *SOFTMAX), launch(40, *SOFTMAX, sequence=2), launch(None, *BACKWARD, sequence=3)]


def test_launches_are_grouped_by_operator() -> None:
    backward, softmax = sorted(by_operator(RUN), key=lambda group: group.name)
    assert softmax.name == "aten::softmax.int > aten::_softmax"
    assert sorted(origin.place.line for origin in softmax.launched if origin and origin.place) == [31, 40]
    assert softmax.bytes == 2 * backward.bytes == 2 * sum(node.bytes for node in PROFILE.nodes)
    assert [origin.place for origin in backward.launched if origin] == [None]
    assert softmax.objects == {"float32[2, 64] of train.py:12 in forward, aten::relu": 1024}


def test_text_names_operator_line_range_and_tensor() -> None:
    text = OperatorReport(Listing()).render(RUN)
    assert "aten::softmax.int > aten::_softmax  66.7 % of all bytes" in text
    assert "launched at train.py:31 in forward, in epoch 1, 1 launch" in text
    assert "float32[2, 64] of train.py:12 in forward, aten::relu" in text
    assert "Note" not in text


def test_json_has_every_place() -> None:
    first, _ = json.loads(OperatorDocument().render(RUN))["operators"]
    assert first["operators"] == SOFTMAX
    assert [(place["line"], place["launches"], place["ranges"]) for place in first["launched_at"]] == [
        (31, 1, ["epoch 1"]),
        (40, 1, ["epoch 1"]),
    ]


def test_outside_operators_the_place_counts_and_its_absence_is_said() -> None:
    text = OperatorReport(Listing()).render([launch(31), launch(40, sequence=2), PROFILE])
    assert "no operator, train.py:31 in forward" in text
    assert "no operator, train.py:40 in forward" in text
    assert "launches whose call site was not recorded" in text
    assert "Note: call sites are recorded by 'cuvein run --call-sites'." in text


def test_what_is_missing_at_a_site_is_said_once() -> None:
    profile = launch(None)
    note = "Python frames are not known: cuvein cannot read those of Python 3.99"
    noted = replace(
        profile.launch, sites=[replace(profile.launch.sites[0], note=note), *profile.launch.sites[1:]]
    )
    text = OperatorReport(Listing(200)).render([replace(profile, launch=noted)] * 2)
    assert "no operator, a place that is not known" in text
    assert text.count(note) == 1


def test_the_report_by_object_names_the_tensor_and_its_line() -> None:
    # The same line made it twice, at two addresses.
    run = [launch(31, *SOFTMAX), launch(31, *SOFTMAX, sequence=2, address=0x7F0000002000)]
    text = ObjectReport(Listing()).render(run)
    assert "float32[2, 64]  512 B  100 % of all bytes in global memory" in text
    assert "made at train.py:12 in forward, aten::relu" in text
    assert "touched by 2 launches" in text
    (entry,) = json.loads(ObjectDocument().render(run))["objects"]
    assert entry["made_at"]["operators"] == ["aten::relu"]


def test_the_report_by_kernel_says_where_it_was_launched() -> None:
    text = TerminalReport().render(RUN)
    place = "train.py:31 in forward, aten::softmax.int > aten::_softmax, in epoch 1"
    assert f"launched at {place} (1 launch)" in text
    assert "launched at" not in TerminalReport().render([PROFILE])
    (kernel,) = json.loads(DocumentReport().render(RUN))["kernels"]
    assert [place["operators"] for place in kernel["launched_at"]] == [SOFTMAX, SOFTMAX, BACKWARD]


def finding_of(run: list[LaunchProfile]) -> dict[str, Any]:
    findings = json.loads(FindingDocument().render(run))["findings"]
    return next(
        finding for finding in findings if any(place["space"] == "global" for place in finding["places"])
    )


def test_findings_name_launch_line_operator_and_tensor() -> None:
    finding = finding_of(RUN[:2])
    assert [place["line"] for place in finding["launched_at"]] == [31, 40]
    assert [place["operators"] for place in finding["launched_at"]] == [SOFTMAX, SOFTMAX]
    (touched,) = finding["objects"]
    assert (touched["name"], touched["made_at"]["line"]) == ("float32[2, 64]", 12)
    text = FindingReport().render(RUN[:1])
    assert "launched at train.py:31 in forward, aten::softmax.int > aten::_softmax, in epoch 1" in text
    assert "data: float32[2, 64] of train.py:12 in forward, aten::relu" in text


def test_findings_without_call_sites_say_nothing_of_them() -> None:
    assert finding_of([PROFILE])["launched_at"] == []
    text = FindingReport().render([PROFILE])
    assert "launched at" not in text
    assert "data:" not in text


def test_reports_say_of_a_backward_pass_which_call_they_name() -> None:
    def profile(**other: int) -> LaunchProfile:
        whole = launch(None, *BACKWARD)
        sites = [replace(whole.launch.sites[0], **other), *whole.launch.sites[1:]]
        sites.append(CallSite([PythonFrame("/me/train.py", 52, "step")], [], [], []))
        return replace(whole, launch=replace(whole.launch, sites=sites))

    of_a_call, started = profile(forward=1), profile(caller=2)
    place = "launched by the backward of train.py:12 in forward"
    assert place in OperatorReport(Listing()).render([of_a_call])
    assert f"{place}, SoftmaxBackward0 > aten::" in FindingReport(width=200).render([of_a_call])
    place = "launched by the backward started at train.py:52 in step"
    assert place in OperatorReport(Listing()).render([started])
    (kernel,) = json.loads(DocumentReport().render([of_a_call, started]))["kernels"]
    assert [(each["role"], each["line"]) for each in kernel["launched_at"]] == [
        ("forward", 12),
        ("backward", 52),
    ]


def test_fingerprints_do_not_depend_on_call_sites() -> None:
    def prints(profile: LaunchProfile) -> set[str]:
        document = json.loads(FindingDocument().render([profile]))
        return {finding["fingerprint"] for finding in document["findings"]}

    assert prints(RUN[0]) == prints(PROFILE)
    analysis = Analysis()
    analysis.add(Graph(RUN[0]))
    assert all(len(finding.launched) == 1 for finding in analysis.report().findings)


@pytest.mark.parametrize("colour", [False, True])
def test_control_characters_reach_no_terminal(colour: bool) -> None:
    """They are in the name of the kernel, of the device and of the operator."""
    evil = "k\x1b[31m\x1b]0;title\x07\x9b1m"
    shape = launch(31, "aten::\x1b[2Jrelu").launch
    function = replace(shape.functions[0], name=evil)
    shape = replace(
        shape,
        kernel=replace(shape.kernel, name=evil),
        functions=[function, *shape.functions[1:]],
        device=replace(shape.device, name="H200\x1b[31m"),
    )
    listing = Listing(100, colour=colour)
    reports = (
        OperatorReport(listing),
        ObjectReport(listing),
        LineReport(Locator.beside(), listing),
        TerminalReport(100, colour=colour),
    )
    for report in reports:
        shown = report.render([replace(PROFILE, launch=shape)])
        assert "\x1b[31m" not in shown
        if colour:
            shown = re.sub(r"\x1b\[[0-9;]*m", "", shown)
        assert all(letter.isprintable() or letter == "\n" for letter in shown), report
        assert "H200?[31m" in shown
