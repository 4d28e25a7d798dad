"""Choosing what is profiled: by name, count, profiler range, NVTX range; the rest runs at its own speed."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import lines, planted, session
from harness.examples import floats

from cuvein.profile import violations

KERNELS = Path(__file__).parent / "kernels"

pytestmark = pytest.mark.timeout(120)

ALPHA, BETA = "alpha", "beta"
ALL = [ALPHA, BETA] * 5


@pytest.mark.parametrize(
    ("options", "sequences"),
    [
        ([], list(range(1, 11))),
        (["--kernel-name", "alpha"], [1, 3, 5, 7, 9]),
        (["--kernel-name", "regex:^_Z4beta"], [2, 4, 6, 8, 10]),
        (["--kernel-name", "a"], list(range(1, 11))),
        (["--exclude-kernel-name", "alpha"], [2, 4, 6, 8, 10]),
        (["--kernel-name", "alpha|beta", "--exclude-kernel-name", "^beta"], [1, 3, 5, 7, 9]),
        (["--launch-skip", "7"], [8, 9, 10]),
        (["--launch-count", "3"], [1, 2, 3]),
        (["--launch-skip", "2", "--launch-count", "3"], [3, 4, 5]),
        (["--kernel-name", "beta", "--launch-skip", "1", "--launch-count", "2"], [4, 6]),
        (["--profile-from-start", "off"], [5, 6, 7, 8]),
    ],
    ids=lambda value: " ".join(value) or "all" if value and isinstance(value[0], str) else None,
)
def test_selected_launches(
    options: list[str], sequences: list[int], programs: dict[str, str], engine: str, tmp_path: Path
) -> None:
    run = session.profile(tmp_path, [programs["selection"]], *options, engine=engine)
    assert (run.outcome.status, run.outcome.stdout.splitlines()[-1:]) == (0, [b"ok"]), str(run.outcome)
    assert [profile.launch.sequence for profile in run.profiles] == sequences
    for profile in run.profiles:
        kernel = ALL[profile.launch.sequence - 1]
        assert profile.launch.kernel.name.split("(")[0] == kernel
        assert violations(profile) == []
        table = lines.table(run.process.module(profile), KERNELS / "selection.cu")
        expected = [
            floats(kernel, "read", {"cold": 256}, 2),
            floats(kernel, "write", {f"thread from {kernel}": 256}, 2),
        ]
        assert planted.differences(profile, table, expected) == []


def test_nvtx_range(programs: dict[str, str], engine: str, tmp_path: Path) -> None:
    run = session.profile(tmp_path, [programs["selection"]], "--nvtx-include", "middle", engine=engine)
    if b"built without NVTX" in run.outcome.stdout:
        pytest.skip("the toolkit has no nvtx3/nvToolsExt.h")
    assert run.outcome.status == 0, str(run.outcome)
    assert [profile.launch.sequence for profile in run.profiles] == [3, 4, 5, 6]


def test_no_kernel_matched_lists_those_seen(programs: dict[str, str], engine: str, tmp_path: Path) -> None:
    run = session.profile(tmp_path, [programs["selection"]], "--kernel-name", "gamma", engine=engine)
    assert run.outcome.status == 120, str(run.outcome)
    assert run.outcome.stdout.splitlines()[-1:] == [b"ok"]
    assert b"alpha" in run.outcome.stderr
    assert b"beta" in run.outcome.stderr
    assert b"Traceback" not in run.outcome.stderr


def test_kernels_seen_are_counted(programs: dict[str, str], engine: str, tmp_path: Path) -> None:
    run = session.profile(tmp_path, [programs["selection"]], "--kernel-name", "alpha", engine=engine)
    seen = {kernel.name.split("(")[0]: kernel for kernel in run.process.summary.kernels_seen}
    assert {name: (kernel.launches, kernel.selected) for name, kernel in seen.items()} == {
        ALPHA: (5, 5),
        BETA: (5, 0),
    }


def test_unselected_kernel_runs_at_its_own_speed(
    programs: dict[str, str], engine: str, tmp_path: Path
) -> None:
    """Patched, a kernel that lives in shared memory takes ten times as long or more."""

    def milliseconds(folder: str, *options: str) -> float:
        file = tmp_path / "time"
        command = [programs["unselected"], str(file)]
        outcome = (
            session.profile(tmp_path / folder, command, *options, engine=engine).outcome
            if options
            else session.execute(command)
        )
        assert outcome.status == 0, str(outcome)
        return float(file.read_text())

    plain = min(milliseconds(""), milliseconds(""))
    unselected = min(milliseconds(folder, "--kernel-name", "^light") for folder in ("1", "2"))
    assert unselected < 1.5 * plain
