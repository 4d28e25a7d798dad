"""A training step of PyTorch, recorded on a GPU with its call sites: what reports say of it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import golden
from cuvein.findings.analysis import analyse
from cuvein.findings.baseline import Baseline
from cuvein.findings.checking import check
from cuvein.findings.comparison import compare, read_run
from cuvein.findings.rules import read_rules
from cuvein.patterns import Thresholds
from cuvein.profile import decode, violations, write
from cuvein.report.by_finding import FindingDocument
from cuvein.report.by_object import ObjectReport
from cuvein.report.by_operator import OperatorReport, by_operator
from cuvein.report.diff import diff_text
from cuvein.report.diff_document import diff_document
from cuvein.report.findings import findings_text
from cuvein.report.html import write_report
from cuvein.report.junit import junit
from cuvein.report.listing import Listing
from cuvein.report.sarif import sarif
from cuvein.source import launched_at, traffic_of

if TYPE_CHECKING:
    from cuvein.profile import LaunchProfile
    from cuvein.source import Origin

RECORDING = golden.FOLDER / "training" / "step.jsonl.gz"
TEMPORARY = "temporary of aten::_softmax_backward_data (65,536 bytes, shape not known)"
PROGRAM = Path(__file__).parents[2] / "examples" / "python" / "torch_train.py"


@pytest.fixture(scope="module")
def step() -> list[LaunchProfile]:
    lines = gzip.decompress(RECORDING.read_bytes()).splitlines()
    return [decode(text, str(RECORDING)) for text in lines]


def line(origin: Origin | None) -> str:
    """Give the text of the program's line."""
    assert origin is not None
    assert origin.place is not None
    assert Path(origin.place.file or "").name == PROGRAM.name
    return PROGRAM.read_text().splitlines()[(origin.place.line or 0) - 1].strip()


def test_recording_names_no_private_paths() -> None:
    text = gzip.decompress(RECORDING.read_bytes()).decode()
    places = {path.split("/")[1] for path in re.findall(r'"(/[a-zA-Z][^"]*)"', text)}
    assert places <= {"tmp", "usr", "lib"}
    assert set(re.findall(r'"/tmp/([^/"]*)', text)) == {"cuvein"}


def test_every_launch_is_whole_and_has_its_operator(step: list[LaunchProfile]) -> None:
    assert len(step) > 20
    for profile in step:
        assert profile.incomplete is None
        assert violations(profile) == []
        origin = launched_at(profile.launch)
        assert origin is not None
        assert origin.operators, profile.launch.kernel.name


def test_softmax_is_known_by_line_operator_and_tensors(step: list[LaunchProfile]) -> None:
    profile = next(each for each in step if "softmax_warp_forward" in each.launch.kernel.name)
    origin = launched_at(profile.launch)
    assert line(origin) == "weights = functional.softmax(likeness / WIDTH**0.5, dim=-1)"
    assert origin is not None
    assert origin.operators == ("aten::softmax.int", "aten::_softmax")
    objects = [traffic.object for traffic in traffic_of(profile)]
    assert [each.name for each in objects] == ["float32[16, 32, 32]"] * 2
    assert {line(each.origin) for each in objects} == {line(origin)}
    made = {each.origin.operators[0] for each in objects if each.origin}
    assert made == {"aten::div.Tensor", "aten::softmax.int"}


def test_the_backward_pass_is_known_by_the_call_in_the_forward_pass(step: list[LaunchProfile]) -> None:
    expected = {
        "NllLossBackward0": "loss = functional.cross_entropy(model(words), classes)",
        "AddmmBackward0": "logits: torch.Tensor = self.classify(mixed.mean(dim=1))",
        "SoftmaxBackward0": "weights = functional.softmax(likeness / WIDTH**0.5, dim=-1)",
        "DivBackward0": "weights = functional.softmax(likeness / WIDTH**0.5, dim=-1)",
        "NativeLayerNormBackward0": "embedded = self.norm(self.table(words))",
        "EmbeddingBackward0": "embedded = self.norm(self.table(words))",
    }
    found: dict[str, set[str]] = {}
    for profile in step:
        origin = launched_at(profile.launch)
        if origin is not None and origin.role == "forward":
            found.setdefault(origin.operators[0], set()).add(line(origin))
    assert found.pop("BmmBackward0") == {
        "likeness = embedded @ embedded.transpose(1, 2)",
        "mixed = weights @ embedded",
    }
    for node, text in expected.items():
        assert found[node] == {text}


def test_sums_of_gradients_are_known_by_the_start_of_the_pass(step: list[LaunchProfile]) -> None:
    origins = [launched_at(profile.launch) for profile in step]
    started = [origin for origin in origins if origin and origin.role == "backward"]
    assert {origin.operators for origin in started} == {("aten::add.Tensor",), ("aten::add_.Tensor",)}
    assert {line(origin) for origin in started} == {"loss.backward()"}


def test_gradients_are_known_by_shape(step: list[LaunchProfile]) -> None:
    profile = next(
        each for each in step if "softmax_warp_backward<float, float, float, 5" in each.launch.kernel.name
    )
    names = [traffic.object.title for traffic in traffic_of(profile)]
    assert (
        "float32[16, 32, 32] of the backward of torch_train.py:30 in Classifier.forward, SoftmaxBackward0"
        in names
    )


def test_of_gradients_of_one_size_and_several_shapes_all_are_named(step: list[LaunchProfile]) -> None:
    names = {traffic.object.name for profile in step for traffic in traffic_of(profile)}
    assert any(" or " in name and "[16, 32, 64]" in name and "[16, 64, 32]" in name for name in names), names


def test_parameters_are_known_by_shape(step: list[LaunchProfile]) -> None:
    profile = next(each for each in step if "layer_norm_kernel" in each.launch.kernel.name)
    shapes = sorted(traffic.object.name for traffic in traffic_of(profile))
    assert "float32[64]" in shapes
    assert "float32[16, 32, 64]" in shapes


def test_the_backward_pass_is_told_by_its_functions(step: list[LaunchProfile]) -> None:
    names = {group.operators[0] for group in by_operator(step) if group.operators}
    assert {"EmbeddingBackward0", "NativeLayerNormBackward0", "SoftmaxBackward0", "BmmBackward0"} <= names


def test_findings_name_operator_line_and_tensors(step: list[LaunchProfile]) -> None:
    findings: list[dict[str, Any]] = json.loads(FindingDocument().render(step))["findings"]
    assert findings
    for finding in findings:
        assert finding["launched_at"]
        assert all(place["operators"] for place in finding["launched_at"])
        if any(place["space"] == "global" for place in finding["places"]):
            assert finding["objects"]
    places = [place for finding in findings for place in finding["launched_at"]]
    assert all(place["line"] and place["file"] == "/tmp/cuvein/torch_train.py" for place in places)
    assert {place["role"] for place in places} == {"call", "forward", "backward"}
    # One operator of the step has a temporary, which never has a shape that others could know.
    names = [[each["name"] for each in finding["objects"]] for finding in findings if finding["objects"]]
    unshaped = [each for name in names for each in name if "[" not in each]
    assert set(unshaped) == {TEMPORARY}
    assert (len(names), len(unshaped)) == (349, 4)


def test_the_first_launch_knows_the_weight_that_was_moved(step: list[LaunchProfile]) -> None:
    names = [traffic.object.name for traffic in traffic_of(step[0])]
    assert step[0].launch.sequence == 1
    assert "vectorized_gather_kernel" in step[0].launch.kernel.name
    assert "float32[100, 64]" in names


def test_every_form_of_report_tells_the_temporary(step: list[LaunchProfile], tmp_path: Path) -> None:
    one = next(
        each for each in step if "softmax_warp_backward<float, float, float, 5" in each.launch.kernel.name
    )
    write(one, tmp_path / "launch-000001.json")
    title = f"{TEMPORARY} of the backward of torch_train.py:30 in Classifier.forward, SoftmaxBackward0"
    assert f"data: {title}" in findings_text(analyse(tmp_path), width=1000)
    assert TEMPORARY in ObjectReport(Listing(200)).render([one])
    assert TEMPORARY in OperatorReport(Listing(200)).render([one])
    write_report([one], [tmp_path], tmp_path / "page.json")
    assert TEMPORARY in (tmp_path / "page.json").read_text()
    before, after = (read_run([tmp_path], Thresholds(streaming=least)) for least in (2, 0.95))
    comparison = compare(before, after)
    assert f"Data: {title}." in diff_text(comparison, width=1000)
    verdict = check(analyse(tmp_path), read_rules(None, ["info"], ()), Baseline())
    for form in (sarif(verdict), junit(verdict), diff_text(comparison, width=1000)):
        assert f"Data: {title}." in form.replace("&gt;", ">")
        assert "Launched by the backward of torch_train.py:30 in Classifier.forward" in form
    (kernel,) = diff_document(comparison)["kernels"]
    names = [each["name"] for one in kernel["findings"]["appeared"] for each in one["after"]["objects"]]
    assert TEMPORARY in names
