"""The checks of ``cuvein doctor``; each is a function that returns what it found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cuvein import native
from cuvein.collect import environment, installation
from cuvein.collect.driver import Gpu, misfit
from cuvein.collect.errors import CuveinError
from cuvein.collect.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Probe", "check_environment", "check_gpus", "check_installation", "check_versions", "probe"]

OLDEST_COMPUTE_CAPABILITY = (7, 5)
_PROBE_SECONDS = 60


@dataclass(frozen=True)
class Probe:
    """What the driver said: its CUDA version and GPUs, or why it could not be asked."""

    version: tuple[int, int] | None = None
    gpus: tuple[Gpu, ...] = ()
    error: str | None = None


def probe() -> Probe:
    """Ask the driver in a process of its own, so that a broken one cannot take cuvein down or hang it."""
    command = [sys.executable, "-m", "cuvein.collect.driver"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PROBE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Probe(error=f"the driver did not answer within {_PROBE_SECONDS} seconds")
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return Probe(error=f"asking the driver ended with status {done.returncode} and no answer")
    return Probe(
        version=tuple(answer["version"]) if answer["version"] else None,
        gpus=tuple(Gpu(g["ordinal"], g["name"], tuple(g["compute_capability"])) for g in answer["gpus"]),
        error=answer["error"],
    )


def check_installation() -> list[Finding]:
    """Look for the parts of cuvein and for NVIDIA's library and disassembler."""
    findings = [_native_library()]
    for subject, locate in (("event monitor", installation.monitor), ("patches", installation.patches)):
        try:
            findings.append(Finding(subject, Severity.OK, str(locate())))
        except CuveinError as error:  # noqa: PERF203 (each part is told)
            findings.append(Finding(subject, Severity.PROBLEM, error.message))
    findings.append(_sanitizer())
    disassembler = installation.nvdisasm()
    if disassembler:
        findings.append(Finding("nvdisasm", Severity.OK, str(disassembler)))
    else:
        findings.append(
            Finding(
                "nvdisasm",
                Severity.WARNING,
                "not found, so instructions are shown without their text",
                "pip install nvidia-cuda-nvdisasm",
            )
        )
    return findings


def check_versions(answer: Probe, sanitizer: str | None) -> Finding:
    """Say whether the driver and the Sanitizer library fit.

    Parameters
    ----------
    answer
        What the driver said.
    sanitizer
        Version of the Sanitizer wheel, e.g. ``"13.5.25"``.
    """
    subject = "driver"
    if answer.version is None:
        return Finding(
            subject,
            Severity.PROBLEM,
            answer.error or "it does not tell its version",
            "install NVIDIA's driver; recordings of other machines can be read without: cuvein analyze TRACE",
        )
    sentence = misfit(answer.version, sanitizer)
    if sentence:
        return Finding(subject, Severity.PROBLEM, sentence, "update the driver")
    fits = f", fits the Sanitizer library {sanitizer}" if sanitizer else ""
    return Finding(subject, Severity.OK, f"supports CUDA {answer.version[0]}.{answer.version[1]}{fits}")


def check_gpus(answer: Probe) -> list[Finding]:
    """List the GPUs and say which of them can be profiled."""
    if answer.error is not None and answer.version is not None:
        return [Finding("GPU", Severity.PROBLEM, answer.error, _device_hint())]
    if not answer.gpus:
        return [Finding("GPU", Severity.PROBLEM, "none", _device_hint())]
    findings = []
    for gpu in answer.gpus:
        capability = ".".join(map(str, gpu.compute_capability))
        text = f"{gpu.ordinal}: {gpu.name}, compute capability {capability}"
        if gpu.compute_capability < OLDEST_COMPUTE_CAPABILITY:
            oldest = ".".join(map(str, OLDEST_COMPUTE_CAPABILITY))
            text += f"; cuvein needs {oldest} or later"
            findings.append(
                Finding("GPU", Severity.WARNING, text, "choose another with CUDA_VISIBLE_DEVICES")
            )
        else:
            findings.append(Finding("GPU", Severity.OK, text))
    if all(finding.severity is not Severity.OK for finding in findings):
        findings.append(Finding("GPU", Severity.PROBLEM, "no GPU here can be profiled"))
    return findings


def check_environment(variables: Mapping[str, str], system: Path = Path("/")) -> list[Finding]:
    """Look for settings that get in the way.

    Parameters
    ----------
    variables
        The environment.
    system
        Root of the file system.
    """
    ours = installation.NATIVE / "libcuvein_monitor.so"
    findings = [
        Finding("environment", Severity.WARNING, sentence)
        for sentence in environment.other_tools(variables, ours)
    ]
    visible = variables.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        text = f"CUDA_VISIBLE_DEVICES is {visible!r}" + ("" if visible.strip() else ", which hides every GPU")
        findings.append(Finding("environment", Severity.NOTE, text))
    findings += _permissions(system)
    if not findings:
        findings.append(Finding("environment", Severity.OK, "nothing in the way"))
    return findings


def _permissions(system: Path) -> list[Finding]:
    findings = [
        Finding(
            "permissions",
            Severity.WARNING,
            f"{device} may not be opened by this user",
            "ask for access to the GPU, usually a group such as video or render",
        )
        for device in sorted((system / "dev").glob("nvidia*"))
        if device.is_char_device() and not os.access(device, os.R_OK | os.W_OK)
    ]
    version = system / "proc" / "version"
    if version.exists() and "microsoft" in version.read_text(errors="replace").lower():
        findings.append(
            Finding(
                "permissions",
                Severity.NOTE,
                "under WSL the Sanitizer library works only after the GPU debugger interface was allowed",
                "see NVIDIA's page on compute-sanitizer and WSL",
            )
        )
    ptrace = system / "proc" / "sys" / "kernel" / "yama" / "ptrace_scope"
    if ptrace.exists() and ptrace.read_text().strip() == "3":
        findings.append(
            Finding(
                "permissions",
                Severity.NOTE,
                "ptrace is forbidden on this system; cuvein does without, debuggers of the program cannot",
            )
        )
    return findings


def _native_library() -> Finding:
    try:
        return Finding("cuvein", Severity.OK, f"{native.version()}, {native.library_path()}")
    except native.NativeError as error:
        return Finding("cuvein", Severity.PROBLEM, str(error))


def _sanitizer() -> Finding:
    subject = "Sanitizer library"
    try:
        path = installation.sanitizer()
    except CuveinError as error:
        return Finding(subject, Severity.PROBLEM, error.message)
    version = installation.wheel_version(installation.SANITIZER_WHEEL)
    wanted = installation.wanted_sanitizer()
    loads = subprocess.run(
        [sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if loads.returncode != 0:
        said = loads.stderr.strip().splitlines()
        return Finding(
            subject, Severity.PROBLEM, f"{path} cannot be loaded: {said[-1] if said else 'no reason'}"
        )
    if wanted and version != wanted:
        return Finding(
            subject,
            Severity.PROBLEM,
            f"{version} is installed, this cuvein is built for {wanted}",
            f"pip install {installation.SANITIZER_WHEEL}=={wanted}",
        )
    return Finding(subject, Severity.OK, f"{version}, {path}")


def _device_hint() -> str:
    if os.environ.get("CUDA_VISIBLE_DEVICES", "x").strip() in ("", "-1"):
        return "CUDA_VISIBLE_DEVICES hides every GPU; unset it"
    return "in a container, pass the GPU on (docker run --gpus all)"
