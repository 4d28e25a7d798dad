from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from cuvein.collect import doctor, installation, kernel, selftest
from cuvein.collect.doctor import Probe
from cuvein.collect.driver import Gpu
from cuvein.collect.errors import CuveinError
from cuvein.collect.finding import Severity
from cuvein.profile.model import (
    Coverage,
    Device,
    Edge,
    Function,
    Kernel,
    LabelName,
    Launch,
    LaunchProfile,
    Process,
    Versions,
)

if TYPE_CHECKING:
    from pathlib import Path

H200 = Gpu(0, "NVIDIA H200", (9, 0))
PASCAL = Gpu(1, "NVIDIA P100", (6, 0))


# --- versions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [(13, 0), (13, 5), (14, 1)])
def test_driver_of_the_same_major_version_or_later_fits(version: tuple[int, int]) -> None:
    assert doctor.check_versions(Probe(version, (H200,)), "13.5.25").severity is Severity.OK


def test_driver_that_is_too_old_is_named_with_the_library() -> None:
    finding = doctor.check_versions(Probe((12, 4), (H200,)), "13.5.25")
    assert finding.severity is Severity.PROBLEM
    assert "CUDA 12.4" in finding.text
    assert "13.5.25" in finding.text
    assert finding.remedy


def test_missing_driver_is_a_problem_in_its_own_words() -> None:
    finding = doctor.check_versions(Probe(error="it cannot be loaded"), "13.5.25")
    assert (finding.severity, finding.text) == (Severity.PROBLEM, "it cannot be loaded")


# --- GPUs ---------------------------------------------------------------------------------------------------


def test_gpus_are_listed_and_old_ones_told_apart() -> None:
    findings = doctor.check_gpus(Probe((13, 0), (H200, PASCAL)))
    assert [finding.severity for finding in findings] == [Severity.OK, Severity.WARNING]
    assert "NVIDIA H200, compute capability 9.0" in findings[0].text


def test_only_old_gpus_are_a_problem() -> None:
    assert doctor.check_gpus(Probe((13, 0), (PASCAL,)))[-1].severity is Severity.PROBLEM


def test_no_gpu_is_a_problem() -> None:
    assert [finding.severity for finding in doctor.check_gpus(Probe((13, 0)))] == [Severity.PROBLEM]


def test_driver_that_does_not_start_is_a_problem() -> None:
    (finding,) = doctor.check_gpus(Probe((13, 0), error="cuInit failed"))
    assert (finding.severity, finding.text) == (Severity.PROBLEM, "cuInit failed")


# --- environment --------------------------------------------------------------------------------------------


def test_clean_environment_is_fine(tmp_path: Path) -> None:
    assert [f.severity for f in doctor.check_environment({}, tmp_path)] == [Severity.OK]


@pytest.mark.parametrize("name", ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "LD_PRELOAD"])
def test_other_injections_are_named(name: str, tmp_path: Path) -> None:
    (finding,) = doctor.check_environment({name: "/opt/other.so"}, tmp_path)
    assert finding.severity is Severity.WARNING
    assert name in finding.text
    assert "/opt/other.so" in finding.text


def test_hidden_gpus_are_noted(tmp_path: Path) -> None:
    (finding,) = doctor.check_environment({"CUDA_VISIBLE_DEVICES": ""}, tmp_path)
    assert "hides every GPU" in finding.text


def test_wsl_and_forbidden_ptrace_are_noted(tmp_path: Path) -> None:
    yama = tmp_path / "proc" / "sys" / "kernel" / "yama"
    yama.mkdir(parents=True)
    (yama / "ptrace_scope").write_text("3\n")
    (tmp_path / "proc" / "version").write_text("Linux version 5.15 (Microsoft@Microsoft.com)")
    findings = doctor.check_environment({}, tmp_path)
    assert [finding.severity for finding in findings] == [Severity.NOTE, Severity.NOTE]


# --- installation -------------------------------------------------------------------------------------------


def test_sanitizer_of_the_wheel_is_found_and_is_the_pinned_one() -> None:
    findings = {finding.subject: finding for finding in doctor.check_installation()}
    assert findings["Sanitizer library"].severity is Severity.OK
    wanted = installation.wanted_sanitizer()
    assert wanted is not None
    assert findings["Sanitizer library"].text.startswith(f"{wanted}, ")


def test_other_sanitizer_version_is_a_problem_naming_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "wheel_version", lambda name: "12.9.27")
    findings = {finding.subject: finding for finding in doctor.check_installation()}
    finding = findings["Sanitizer library"]
    assert finding.severity is Severity.PROBLEM
    assert "12.9.27" in finding.text
    assert str(installation.wanted_sanitizer()) in finding.text


def test_missing_native_parts_are_problems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(installation, "NATIVE", tmp_path)
    findings = {finding.subject: finding for finding in doctor.check_installation()}
    assert findings["event monitor"].severity is findings["patches"].severity is Severity.PROBLEM
    with pytest.raises(CuveinError, match="make setup"):
        installation.monitor()


# --- self-test ----------------------------------------------------------------------------------------------


def of_self_test(labels: dict[LabelName, int]) -> LaunchProfile:
    function = Function(kernel.NAME, kernel.NAME, 0, 512)
    launch = Launch(
        sequence=1,
        kernel=Kernel(kernel.NAME, kernel.NAME),
        grid=(1, 1, 1),
        block=(64, 1, 1),
        cluster=None,
        shared_bytes=(0, 0),
        device=Device(0, "NVIDIA H200", (9, 0), 132),
        context=1,
        stream=0,
        functions=[function],
        allocations=[],
    )
    return LaunchProfile(
        format="cuvein launch profile",
        version=1,
        id="p-1",
        engine="host",
        incomplete=None,
        process=Process("p", 1, "python", [], Versions("0.1.0")),
        launch=launch,
        coverage=Coverage({"global": 8}, [], 0, 0),
        nodes=[],
        edges=[Edge(0, None, label, size, size // 4) for label, size in labels.items()],
    )


def test_self_test_accepts_what_its_kernel_does() -> None:
    profile = of_self_test({"cold": 512, "thread": 256, "block": 256})
    assert selftest.compare([profile]).severity is Severity.OK


@pytest.mark.parametrize(
    "labels", [{}, {"cold": 512, "thread": 256}, {"cold": 512, "thread": 256, "grid": 256}]
)
def test_self_test_rejects_everything_else(labels: dict[LabelName, int]) -> None:
    finding = selftest.compare([of_self_test(labels)])
    assert finding.severity is Severity.PROBLEM
    assert "block 256 B" in finding.text


def test_self_test_rejects_a_missing_profile() -> None:
    assert selftest.compare([]).severity is Severity.PROBLEM
    other = of_self_test({"cold": 1})
    named = msgspec.structs.replace(other.launch, kernel=Kernel("other", "other"))
    assert selftest.compare([msgspec.structs.replace(other, launch=named)]).severity is Severity.PROBLEM


# --- the command --------------------------------------------------------------------------------------------


def test_doctor_ends_with_122_where_there_is_no_driver() -> None:
    if doctor.probe().version is not None:
        pytest.skip("this machine has a CUDA driver")
    environment = {**os.environ, "CUDA_INJECTION64_PATH": "/opt/other.so"}
    done = subprocess.run(
        [sys.executable, "-m", "cuvein", "doctor"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 122
    assert "libcuda.so.1" in done.stdout
    assert "/opt/other.so" in done.stdout
    assert done.stderr == ""


def test_kernel_of_the_self_test_assembles_to_its_four_accesses(tmp_path: Path) -> None:
    tools = [folder / "bin" for folder in installation.nvidia_folders()]
    ptxas = next((tool / "ptxas" for tool in tools if (tool / "ptxas").exists()), None)
    disassembler = installation.nvdisasm()
    assert ptxas is not None
    assert disassembler is not None
    (tmp_path / "kernel.ptx").write_text(kernel.PTX)
    for architecture in ("sm_75", "sm_90", "sm_120"):
        cubin = tmp_path / f"{architecture}.cubin"
        subprocess.run([ptxas, f"-arch={architecture}", tmp_path / "kernel.ptx", "-o", cubin], check=True)
        text = subprocess.run([disassembler, cubin], check=True, capture_output=True, text=True).stdout
        assert (text.count(" LDG."), text.count(" STG.")) == (2, 2)
