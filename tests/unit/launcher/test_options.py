"""Where profiles and traces are written, and wrong usage."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from stand_ins.launcher import PROGRAM_WITH_CUDA, Cuvein

if TYPE_CHECKING:
    from pathlib import Path


def fill(folder: Path) -> None:
    (folder / "out" / "process-1").mkdir(parents=True)
    (folder / "out" / "process-1" / "process.json").write_text("{}")
    (folder / "out" / "notes").write_text("mine")


def test_folder_in_use_is_left_alone(cuvein: Cuvein) -> None:
    fill(cuvein.folder)
    done = cuvein.run("run", "-o", "out", "--", "touch", "started")
    assert done.returncode == 124
    assert b"--force" in done.stderr
    assert not (cuvein.folder / "started").exists()
    assert (cuvein.folder / "out" / "process-1").exists()


def test_force_replaces_profiles_and_nothing_else(cuvein: Cuvein) -> None:
    fill(cuvein.folder)
    done = cuvein.run("run", "--force", "-o", "out", "--", "true")
    assert done.returncode == 120
    assert [path.name for path in (cuvein.folder / "out").iterdir()] == ["notes"]


@pytest.mark.parametrize(
    "words",
    [
        ["-o", "/proc/nowhere"],
        ["-o", "file"],
        ["-o", "file/x"],
        ["--trace", "no/t"],
        ["--trace", "pipe", "--force"],
        ["--trace", ".", "--force"],
    ],
)
def test_unwritable_output_is_124_before_the_program_starts(cuvein: Cuvein, words: list[str]) -> None:
    (cuvein.folder / "file").touch()
    os.mkfifo(cuvein.folder / "pipe")
    done = cuvein.run("run", *words, "--", "touch", "started")
    assert done.returncode == 124
    assert b"Traceback" not in done.stderr
    assert not (cuvein.folder / "started").exists()


def test_trace_may_go_into_the_folder_of_the_profiles(cuvein: Cuvein) -> None:
    scenario = {"profiles": [None], "kernels": [["k", 1, 1]]}
    words = ["run", "-o", "out", "--trace", "out/t", "--", *cuvein.program(PROGRAM_WITH_CUDA)]
    assert cuvein.run(*words, scenario=scenario).returncode == 0
    assert (cuvein.folder / "out" / "t").read_text() == "trace"


def test_trace_that_exists_is_not_overwritten(cuvein: Cuvein) -> None:
    (cuvein.folder / "t").write_text("precious")
    assert cuvein.run("run", "--trace", "t", "--", "true").returncode == 124
    assert (cuvein.folder / "t").read_text() == "precious"


def test_link_to_a_trace_that_is_to_be_stays(cuvein: Cuvein) -> None:
    (cuvein.folder / "link").symlink_to("t")
    cuvein.run("run", "--trace", "link", "--", "true")
    assert [path.name for path in cuvein.folder.iterdir()] == ["link"]
    program = cuvein.program(PROGRAM_WITH_CUDA)
    cuvein.run("run", "--trace", "link", "--", *program, scenario={"kernels": [["k", 1, 1]]})
    assert (cuvein.folder / "t").read_text() == "trace"


def test_default_folders_are_numbered(cuvein: Cuvein) -> None:
    scenario = {"profiles": [None], "kernels": [["k", 1, 1]]}
    program = cuvein.program("#!/usr/bin/env python3\n" + PROGRAM_WITH_CUDA, "my app")
    (cuvein.folder / "my app").chmod(0o755)
    for _ in range(2):
        assert cuvein.run("run", "--", program[1], scenario=scenario).returncode == 0
    assert {path.name for path in cuvein.folder.iterdir()} == {"my app", "cuvein-my_app-1", "cuvein-my_app-2"}


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--no-profile", "true"],
        ["--no-such-option", "true"],
        ["--launch-count", "0", "true"],
        ["--workers", "x", "true"],
        ["--launch-skip", str(2**63), "true"],
        ["--ring-size", "99999999", "true"],
        ["--nvtx-include", b"\xff", "true"],
    ],
)
def test_wrong_usage_is_2(cuvein: Cuvein, words: list[str | bytes]) -> None:
    done = cuvein.run("run", *words)
    assert done.returncode == 2
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--source-root", "."], b"no use without --source"),
        (["--source", "embed", "--source-root", "nowhere"], b"there is no folder nowhere"),
        (["--source", "path", "--no-profile", "--trace", "t"], b"--source is for profiles"),
    ],
)
def test_source_that_would_not_be_kept_is_refused_before_the_program_starts(
    cuvein: Cuvein, words: list[str], said: bytes
) -> None:
    done = cuvein.run("run", *words, "--", "touch", "started", env={"COLUMNS": "200"})
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(cuvein.folder.iterdir())


@pytest.mark.parametrize("name", ["CUDA_INJECTION64_PATH", "LD_PRELOAD"])
def test_other_tools_are_warned_about(cuvein: Cuvein, stand_ins: Path, name: str) -> None:
    other = str(stand_ins / "libcuda.so.1")
    done = cuvein.run("run", "--", "true", env={name: other})
    assert f"warning: {name} is set to {other}" in done.stderr.decode()


def test_driver_that_is_too_old_is_warned_about_with_both_versions(cuvein: Cuvein) -> None:
    done = cuvein.run("run", "--", "true", env={"DRIVER_VERSION": "12040"})
    (warning, _) = done.stderr.decode().splitlines()
    assert "warning: the driver supports CUDA 12.4, the Sanitizer library 13." in warning


def test_expressions_reach_the_monitor_without_the_prefix_of_ncu(cuvein: Cuvein) -> None:
    words = ["--kernel-name", "regex:^soft(max)?", "--exclude-kernel-name", "a|b"]
    seen = cuvein.folder / "seen"
    program = cuvein.program(PROGRAM_WITH_CUDA)
    done = cuvein.run(
        "run", *words, "--", *program, env={"SEEN": str(seen)}, scenario={"kernels": [["k", 1, 0]]}
    )
    assert b"no launch matched --kernel-name '^soft(max)?' --exclude-kernel-name 'a|b'" in done.stderr
    configuration = json.loads(seen.read_text())
    assert configuration["kernel_name"] == "^soft(max)?"
    assert configuration["exclude_kernel_name"] == "a|b"


def test_bad_expression_is_2_before_the_program_starts(cuvein: Cuvein) -> None:
    done = cuvein.run("run", "--kernel-name", "(", "--", "touch", "started")
    assert done.returncode == 2
    assert not (cuvein.folder / "started").exists()
