"""PyTorch, Triton, CuPy and Numba programs: results unchanged, profiles in order."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness import session

from cuvein.profile import violations
from cuvein.report.by_finding import FindingDocument
from cuvein.source import launched_at, traffic_of

if TYPE_CHECKING:
    from cuvein.profile import LaunchProfile
    from cuvein.source import Origin

PROGRAMS = Path(__file__).parents[2] / "examples" / "python"

# Of the first step of torch_train.py, with PyTorch 2.11.
LAUNCHES_OF_STEP = 32

pytestmark = pytest.mark.timeout(300)


def need(*packages: str) -> None:
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"needs {package}")


def run(program: str, folder: Path, *options: str) -> session.Session:
    command = [sys.executable, str(PROGRAMS / program)]
    without = session.execute(command, timeout=200)
    if without.status != 0:
        pytest.skip(f"{program} does not run here without cuvein: {without.stderr.decode()[-200:]}")
    result = session.profile(folder, command, *options, timeout=200)
    assert (result.outcome.status, result.outcome.stdout) == (0, without.stdout), str(result.outcome)
    for profile in result.profiles:
        assert violations(profile) == [], profile.launch.kernel.name
        assert profile.incomplete is None
    return result


def named(run: session.Session, *words: str) -> list[LaunchProfile]:
    return [
        profile
        for profile in run.profiles
        if any(word in profile.launch.kernel.name.lower() for word in words)
    ]


def total(profile: LaunchProfile, **wanted: str) -> int:
    return sum(
        node.bytes
        for node in profile.nodes
        if all(getattr(node, key) == value for key, value in wanted.items())
    )


@pytest.fixture(scope="module")
def torch_run(tmp_path_factory: pytest.TempPathFactory) -> session.Session:
    need("torch")
    return run("torch_ops.py", tmp_path_factory.mktemp("torch"))


def test_torch_operators_are_all_profiled(torch_run: session.Session) -> None:
    assert named(torch_run, "softmax")
    assert named(torch_run, "layer_norm", "layernorm")
    assert named(torch_run, "gemm", "cutlass", "nvjet", "xmma", "magma")
    assert named(torch_run, "scan", "cumsum")
    assert named(torch_run, "index", "gather", "embedding")


def test_torch_softmax_writes_each_element_once(torch_run: session.Session) -> None:
    """64 rows of 1000 floats; PyTorch stores nothing else in global memory."""
    (profile,) = named(torch_run, "softmax")
    assert total(profile, space="global", type="write") == 64 * 1000 * 4
    cold = sum(
        edge.bytes
        for edge in profile.edges
        if edge.label == "cold" and profile.nodes[edge.node].space == "global"
    )
    assert cold == 2 * 64 * 1000 * 4


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> session.Session:
    need("torch")
    return run("torch_train.py", tmp_path_factory.mktemp("training"), "--call-sites")


def test_every_launch_of_a_training_step_has_an_operator(training: session.Session) -> None:
    for profile in training.profiles:
        origin = launched_at(profile.launch)
        assert origin is not None
        assert origin.operators, profile.launch.kernel.name


def test_findings_of_a_step_name_line_operator_and_tensors(training: session.Session) -> None:
    """Those of the first step, of which tests/golden/training is a recording."""
    first = next(profile for profile in training.profiles if profile.launch.sequence == 1)
    of_step = [profile for profile in training.profiles if profile.launch.sequence <= LAUNCHES_OF_STEP]
    findings = json.loads(FindingDocument().render(of_step))["findings"]
    assert len(findings) > 300
    for finding in findings:
        places = finding["launched_at"]
        assert places
        assert all(place["operators"] and place["file"] and place["line"] for place in places)
        assert {Path(place["file"]).name for place in places} == {"torch_train.py"}
    objects = [finding["objects"] for finding in findings if finding["objects"]]
    unshaped = {each["name"] for known in objects for each in known if "[" not in each["name"]}
    assert unshaped == {"temporary of aten::_softmax_backward_data (65,536 bytes, shape not known)"}
    # The parameter that was moved to the GPU and then used by the very first launch.
    assert "float32[100, 64]" in {traffic.object.name for traffic in traffic_of(first)}


def test_the_softmax_of_a_step_is_known_by_line_operator_and_tensors(training: session.Session) -> None:
    source = (PROGRAMS / "torch_train.py").read_text().splitlines()

    def text(origin: Origin | None) -> str:
        assert origin is not None
        assert origin.place is not None
        assert origin.place.file == str(PROGRAMS / "torch_train.py")
        return source[(origin.place.line or 0) - 1].strip()

    forward, *_ = named(training, "softmax")
    origin = launched_at(forward.launch)
    assert text(origin) == "weights = functional.softmax(likeness / WIDTH**0.5, dim=-1)"
    assert origin is not None
    assert origin.operators[-1] == "aten::_softmax"
    objects = [traffic.object for traffic in traffic_of(forward)]
    assert [each.name for each in objects] == ["float32[16, 32, 32]"] * 2
    assert {text(each.origin) for each in objects} == {text(origin)}


def test_triton_softmax(tmp_path: Path) -> None:
    need("torch", "triton")
    result = run("triton_softmax.py", tmp_path, "--kernel-name", "softmax_kernel")
    (profile,) = result.profiles
    rows, columns = 32, 781
    assert total(profile, space="global", type="write") == rows * columns * 4
    assert total(profile, space="global", type="read") == rows * columns * 4
    edges = [edge for edge in profile.edges if profile.nodes[edge.node].space == "global"]
    assert {edge.label for edge in edges} == {"cold"}


def test_cupy_saxpy(tmp_path: Path) -> None:
    need("cupy")
    result = run("cupy_saxpy.py", tmp_path, "--kernel-name", "saxpy")
    (profile,) = result.profiles
    labels = {
        (profile.nodes[edge.node].type, edge.label): edge.bytes
        for edge in profile.edges
        if profile.nodes[edge.node].type == "write"
    }
    assert labels == {("write", "thread"): 4 * 4096}
    assert total(profile, type="read") == 8 * 4096
    assert sum(edge.bytes for edge in profile.edges if edge.label == "cold") == 8 * 4096


def test_numba_reduce(tmp_path: Path) -> None:
    need("numba")
    result = run("numba_reduce.py", tmp_path, "--kernel-name", "total_kernel")
    (profile,) = result.profiles
    blocks, threads = 16, 128
    assert total(profile, space="shared", type="write") == blocks * 8 * (threads + threads - 1)
    atomics = [
        edge
        for edge in profile.edges
        if profile.nodes[edge.node].type == "atomic" and profile.nodes[edge.node].space == "global"
    ]
    assert {edge.label: edge.bytes for edge in atomics} == {"cold": 8, "grid": 8 * (blocks - 1)}
