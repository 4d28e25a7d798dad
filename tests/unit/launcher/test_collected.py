"""What the launcher says of what was collected."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from stand_ins.launcher import PROGRAM_WITH_CUDA, Cuvein


def test_program_without_cuda_is_120_and_leaves_nothing(cuvein: Cuvein) -> None:
    done = cuvein.run("run", "--", "true")
    assert done.returncode == 120
    assert b"true did not use CUDA" in done.stderr
    assert not list(cuvein.folder.iterdir())


def test_summary_names_profiles_kernels_and_the_next_command(cuvein: Cuvein) -> None:
    scenario = {"profiles": [None, None], "kernels": [["fill(float*)", 9, 0], ["softmax(float*)", 2, 2]]}
    done = cuvein.run("run", "--", *cuvein.program(PROGRAM_WITH_CUDA + "print('out')"), scenario=scenario)
    assert done.returncode == 0
    assert done.stdout == b"out\n"
    folder = next(path.name for path in cuvein.folder.iterdir() if path.is_dir())
    said = done.stderr.decode()
    assert f"2 profiles in {folder}" in said
    assert (cuvein.folder / folder / "config.json").exists()
    assert "11 launches of 2 kernels seen" in said
    assert "2 x  softmax(float*)" in said
    assert "fill" not in said
    assert f"cuvein report {folder}" in said
    assert all(line.startswith("cuvein: ") for line in said.splitlines())


def test_quiet_run_that_went_well_says_nothing(cuvein: Cuvein) -> None:
    scenario = {"profiles": [None], "kernels": [["k", 1, 1]]}
    done = cuvein.run("run", "--quiet", "--", *cuvein.program(PROGRAM_WITH_CUDA), scenario=scenario)
    assert (done.returncode, done.stderr) == (0, b"")


def test_kernels_that_were_seen_are_listed_when_none_matched(cuvein: Cuvein) -> None:
    done = cuvein.run(
        "run",
        "--launch-skip",
        "9",
        "--",
        *cuvein.program(PROGRAM_WITH_CUDA),
        scenario={"kernels": [["fill(float*)", 3, 0]]},
    )
    assert done.returncode == 120
    assert b"--launch-skip 9" in done.stderr
    assert b"3 x  fill(float*)" in done.stderr


def test_cuda_without_kernels_is_120(cuvein: Cuvein) -> None:
    done = cuvein.run("run", "--", *cuvein.program(PROGRAM_WITH_CUDA))
    assert done.returncode == 120
    assert b"launched no kernel" in done.stderr


def test_problem_that_kept_the_monitor_from_working_is_122(cuvein: Cuvein) -> None:
    sentence = "Another tool is subscribed already."
    done = cuvein.run(
        "run", "-q", "--", *cuvein.program(PROGRAM_WITH_CUDA), scenario={"problems": [sentence]}
    )
    assert done.returncode == 122
    assert done.stderr.decode().splitlines() == [f"cuvein: {sentence}", "cuvein: nothing profiled: see above"]


@pytest.mark.parametrize("known", [{}, {"incomplete": 1}])
def test_incomplete_profile_is_121_and_named(cuvein: Cuvein, known: dict[str, int]) -> None:
    scenario = {"profiles": [None, "The disk is full."], "kernels": [["k", 2, 2]], **known}
    done = cuvein.run("run", "--", *cuvein.program(PROGRAM_WITH_CUDA), scenario=scenario)
    assert done.returncode == 121
    assert b"launch-000002.json: The disk is full." in done.stderr


def test_process_that_was_cut_off_is_121(cuvein: Cuvein) -> None:
    scenario = {"profiles": [None], "finished": False}
    done = cuvein.run("run", "--", *cuvein.program(PROGRAM_WITH_CUDA), scenario=scenario)
    assert done.returncode == 121
    assert b"cut off" in done.stderr


def test_profiles_are_read_when_the_monitor_has_not_had_the_last_word(cuvein: Cuvein) -> None:
    scenario = {"profiles": [None, "The disk is full."], "finished": False, "incomplete": 0}
    done = cuvein.run("run", "--", *cuvein.program(PROGRAM_WITH_CUDA), scenario=scenario)
    assert done.returncode == 121
    assert b"launch-000002.json: The disk is full." in done.stderr


def test_each_process_of_the_program_has_its_folder(cuvein: Cuvein) -> None:
    text = f"import os\npid = os.fork()\n{PROGRAM_WITH_CUDA}\nif pid: os.waitpid(pid, 0)\n"
    scenario = {"profiles": [None], "kernels": [["k", 1, 1]]}
    done = cuvein.run("run", "-o", "out", "--trace", "t", "--", *cuvein.program(text), scenario=scenario)
    assert done.returncode == 0
    assert len(list(cuvein.folder.glob("out/process-*"))) == 2
    assert b"2 profiles in out, 2 processes" in done.stderr
    assert len(list(cuvein.folder.glob("t*"))) == 2
    assert (cuvein.folder / "t").exists()


def test_daemon_does_not_hold_cuvein_up(cuvein: Cuvein) -> None:
    text = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        f"    os.setsid(); {PROGRAM_WITH_CUDA}"
        "    open('ready', 'w').close(); time.sleep(5); os._exit(0)\n"
        "while not os.path.exists('ready'): time.sleep(0.02)\n"
    )
    begin = time.monotonic()
    command = cuvein.arguments("run", "--", *cuvein.program(text))
    environment = {**cuvein.environment, "SCENARIO": json.dumps({"finished": False})}
    with (cuvein.folder / "stderr").open("wb") as stderr:
        process = subprocess.run(command, cwd=cuvein.folder, env=environment, stderr=stderr, check=False)
    assert time.monotonic() - begin < 4.5
    assert process.returncode == 120
    assert "still running" in (cuvein.folder / "stderr").read_text()


def test_process_that_nobody_has_asked_for_since_it_was_killed_is_not_running(cuvein: Cuvein) -> None:
    text = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    child = os.fork()\n"
        f"    if child == 0:\n        {PROGRAM_WITH_CUDA}        os.kill(os.getpid(), 9)\n"
        "    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)\n"
        "    open('ready', 'w').close(); time.sleep(5); os._exit(0)\n"
        "while not os.path.exists('ready'): time.sleep(0.02)\n"
    )
    command = cuvein.arguments("run", "--", *cuvein.program(text))
    scenario = {"finished": False, "profiles": [None], "kernels": [["k", 1, 1]]}
    environment = {**cuvein.environment, "SCENARIO": json.dumps(scenario)}
    with (cuvein.folder / "stderr").open("wb") as stderr:
        process = subprocess.run(command, cwd=cuvein.folder, env=environment, stderr=stderr, check=False)
    assert process.returncode == 121
    said = (cuvein.folder / "stderr").read_text()
    assert "was cut off" in said
    assert "still running" not in said


@pytest.mark.parametrize("profile", ["b'{\"a\":' + b'[' * 100000", 'b\'{"incomplete":"\\xff"}\'', "b''"])
def test_profile_that_cannot_be_read_is_told_of(cuvein: Cuvein, profile: str) -> None:
    text = (
        f"import pathlib\n{PROGRAM_WITH_CUDA}"
        f"next(pathlib.Path('out').glob('process-*/launch-*')).write_bytes({profile})\n"
    )
    scenario = {"profiles": [None], "finished": False, "kernels": [["k", 1, 1]]}
    done = cuvein.run("run", "-o", "out", "--", *cuvein.program(text), scenario=scenario)
    assert done.returncode == 121
    assert b"launch-000001.json cannot be read" in done.stderr
    assert b"Traceback" not in done.stderr


def test_options_reach_the_monitor(cuvein: Cuvein) -> None:
    words = "--launch-skip 2 --launch-count 5 --profile-from-start off --nvtx-include a --nvtx-include b"
    done = cuvein.run(
        "run",
        *words.split(),
        "--workers",
        "3",
        "--ring-size",
        "8",
        "-o",
        "out",
        "--",
        *cuvein.program(PROGRAM_WITH_CUDA),
        env={"SEEN": str(cuvein.folder / "seen")},
    )
    assert done.returncode == 120
    seen = json.loads((cuvein.folder / "seen").read_text())
    assert seen["output"] == str(cuvein.folder / "out")
    assert (seen["launch_skip"], seen["launch_count"], seen["profile_from_start"]) == (2, 5, False)
    assert (seen["nvtx_include"], seen["workers"], seen["ring_bytes"]) == (["a", "b"], 3, 8 << 20)
    assert (seen["engine"], seen["trace"], seen["kernel_name"]) == ("auto", None, None)


@pytest.mark.parametrize(
    ("words", "engine"),
    [
        ([], "auto"),
        (["--engine", "auto"], "auto"),
        (["--engine", "gpu"], "gpu"),
        (["--engine", "host"], "host"),
        (["--trace", "t"], "host"),
        (["--engine", "auto", "--trace", "t"], "host"),
    ],
)
def test_a_trace_needs_the_host_engine(cuvein: Cuvein, words: list[str], engine: str) -> None:
    done = cuvein.run(
        "run",
        *words,
        "--",
        *cuvein.program(PROGRAM_WITH_CUDA),
        scenario={"profiles": [None], "kernels": [["k", 1, 1]]},
        env={"SEEN": str(cuvein.folder / "seen")},
    )
    assert done.returncode == 0
    assert json.loads((cuvein.folder / "seen").read_text())["engine"] == engine


def test_launches_that_the_gpu_engine_left_are_told_with_the_reason(cuvein: Cuvein) -> None:
    left = [
        {"reason": "its memory did not suffice", "launches": 2},
        {"reason": "another kernel was running on it", "launches": 1},
    ]
    scenario = {"profiles": [None] * 4, "kernels": [["k", 4, 4]], "host_engine": left}
    done = cuvein.run("run", "--", *cuvein.program(PROGRAM_WITH_CUDA), scenario=scenario)
    assert done.returncode == 0
    told = "cuvein: the GPU engine left {} to the host engine: {}"
    lines = done.stderr.decode().splitlines()
    assert told.format("2 launches", "its memory did not suffice") in lines
    assert told.format("1 launch", "another kernel was running on it") in lines


def test_trace_only_keeps_no_folder(cuvein: Cuvein) -> None:
    scenario = {"kernels": [["k", 1, 1]]}
    done = cuvein.run(
        "run",
        "--no-profile",
        "--trace",
        "t.cvt",
        "--",
        *cuvein.program(PROGRAM_WITH_CUDA),
        scenario=scenario,
        env={"SEEN": str(cuvein.folder / "seen")},
    )
    assert done.returncode == 0
    assert b"cuvein analyze" in done.stderr
    assert sorted(path.name for path in cuvein.folder.iterdir()) == ["program.py", "seen", "t.cvt"]
    seen = json.loads((cuvein.folder / "seen").read_text())
    assert seen["engine"] == "none"
    assert not Path(seen["output"]).exists()
