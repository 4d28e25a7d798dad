"""The launcher against a stand-in driver, which loads the injected library when CUDA is initialised.

What stands in for the monitor writes what each test asks for, so everything but the GPU is real: processes,
signals, streams, exit statuses, files.
"""

from __future__ import annotations

import hashlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PROGRAM_WITH_CUDA = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)\n"

DRIVER = r"""
#include <dlfcn.h>
#include <stdlib.h>
int cuDriverGetVersion(int* version) {
  const char* wanted = getenv("DRIVER_VERSION");
  *version = wanted ? atoi(wanted) : 13000;
  return 0;
}
int cuInit(unsigned flags) {
  const char* path = getenv("CUDA_INJECTION64_PATH");
  void* library = path ? dlopen(path, RTLD_NOW) : 0;
  int (*start)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : 0;
  return start && !start();
}
"""

MONITOR = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int InitializeInjection(void) {
  char command[4096];
  snprintf(command, sizeof command, "'%s' '%s' %d %d", PYTHON, SCRIPT, getpid(),
           atoi(getenv("CUVEIN_ROOT")) == getppid());
  return system(command) == 0;
}
"""

# Reads the configuration as the monitor does and leaves what the test asked for in SCENARIO.
SCRIPT = r"""
import json, os, pathlib, sys
configuration = json.loads(pathlib.Path(os.environ["CUVEIN_CONFIG"]).read_text())
scenario = json.loads(os.environ["SCENARIO"])
pid, root = int(sys.argv[1]), sys.argv[2] == "1"
folder = pathlib.Path(configuration["output"]) / f"process-{pid}"
folder.mkdir()
trace = configuration["trace"]
if trace:
    trace = trace if root else f"{trace}.{pid}"
    pathlib.Path(trace).write_bytes(b"trace")
for number, incomplete in enumerate(scenario.get("profiles", []), 1):
    (folder / f"launch-{number:06}.json").write_text(json.dumps({"incomplete": incomplete}))
(folder / "process.json").write_text(json.dumps({
    "format": "cuvein process", "version": 1,
    "process": {"id": str(pid), "pid": pid, "executable": "x", "arguments": [],
                "versions": {"cuvein": "0"}},
    "finished": scenario.get("finished", True),
    "kernels_seen": [
        {"name": n, "mangled": n, "launches": l, "selected": s} for n, l, s in scenario.get("kernels", [])
    ],
    "profiles": len(scenario.get("profiles", [])), "problems": scenario.get("problems", []), "trace": trace,
}))
pathlib.Path(os.environ["SEEN"]).write_text(json.dumps(configuration)) if "SEEN" in os.environ else None
"""


@dataclass
class Cuvein:
    """Runs the command line with the stand-ins in place."""

    folder: Path
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    def arguments(self, *words: str | bytes) -> list[str | bytes]:
        return [*self.command, *words]

    def run(
        self, *words: str | bytes, scenario: dict[str, object] | None = None, **options: object
    ) -> subprocess.CompletedProcess[bytes]:
        environment = {**self.environment, "SCENARIO": json.dumps(scenario or {})}
        environment.update(options.pop("env", {}))  # type: ignore[call-overload]
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            self.arguments(*words),
            cwd=self.folder,
            env=environment,
            capture_output=True,
            timeout=60,
            check=False,
            **options,
        )

    def program(self, text: str, name: str = "program.py") -> list[str]:
        path = self.folder / name
        path.write_text(text)
        return [sys.executable, str(path)]


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stand-ins")
    (folder / "script.py").write_text(SCRIPT)
    quoted = {"PYTHON": sys.executable, "SCRIPT": str(folder / "script.py")}
    macros = [f'-D{name}="{value}"' for name, value in quoted.items()]
    for name, text in (("libcuda.so.1", DRIVER), ("monitor.so", MONITOR)):
        source = folder / f"{name}.c"
        source.write_text(text)
        subprocess.run(
            ["g++", "-x", "c", "-shared", "-fPIC", *macros, str(source), "-o", str(folder / name), "-ldl"],
            check=True,
        )
    return folder


@pytest.fixture
def cuvein(stand_ins: Path, tmp_path: Path) -> Cuvein:
    code = (
        "import pathlib, sys; from cuvein.collect import installation;"
        f"installation.monitor = lambda: pathlib.Path({str(stand_ins / 'monitor.so')!r});"
        "installation.sanitizer = installation.patches = lambda: pathlib.Path('/absent');"
        "from cuvein.cli import main; sys.argv[0] = 'cuvein'; main()"
    )
    environment = {name: value for name, value in os.environ.items() if "INJECTION" not in name}
    environment["LD_LIBRARY_PATH"] = str(stand_ins)
    environment.pop("LD_PRELOAD", None)
    return Cuvein(tmp_path, [sys.executable, "-c", code], environment)


def started(folder: Path, name: str = "ready", seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not (folder / name).exists():
        assert time.monotonic() < end, "the program did not start"
        time.sleep(0.02)


# --- what goes in -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [["--"], []])
def test_arguments_arrive_byte_for_byte(cuvein: Cuvein, separator: list[str]) -> None:
    program = cuvein.program("import os, sys; print([os.fsencode(a) for a in sys.argv[1:]])")
    words = [b"a b", b"'", b'"', b"$HOME", b"`id`", b"*", b"\\", b"new\nline", b"", b"\xff\xfe", "ü".encode()]
    words += [b"--", b"--output", b"-h", b"--version", b"--", b"x=y"]
    done = cuvein.run("run", *separator, *program, *words)
    assert done.stdout.decode().strip() == repr(words)


def test_program_gets_standard_input_and_inherited_descriptors(cuvein: Cuvein) -> None:
    program = cuvein.program("import os, sys; print(sys.stdin.read(), os.read(int(sys.argv[1]), 9))")
    reading, writing = os.pipe()
    os.write(writing, b"from a fd")
    done = cuvein.run("run", "--", *program, str(reading), input=b"from stdin", pass_fds=[reading])
    os.close(reading)
    os.close(writing)
    assert done.stdout == b"from stdin b'from a fd'\n"


def test_call_sites_are_asked_for_and_python_is_made_to_tell_of_tensors(cuvein: Cuvein) -> None:
    program = cuvein.program("import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)")
    shown = ["sh", "-c", 'echo "$PYTHONPATH"; exec "$@"', "sh", *program]
    asked = cuvein.run("run", "--call-sites", "--", *shown, env={"SEEN": "seen.json", "PYTHONPATH": "/own"})
    assert json.loads((cuvein.folder / "seen.json").read_text())["call_sites"] is True
    assert asked.stdout.decode().strip().endswith("/inprocess/path:/own")
    plain = cuvein.run("run", "--", *shown, env={"SEEN": "plain.json", "PYTHONPATH": "/own"})
    assert json.loads((cuvein.folder / "plain.json").read_text())["call_sites"] is False
    assert plain.stdout == b"/own\n"


def test_environment_signals_and_mask_are_as_without_cuvein(cuvein: Cuvein) -> None:
    text = (
        "#!/bin/sh\nenv | grep -v -e INJECTION64_PATH -e CUVEIN_ -e ^_= | sort\n"
        # glibc keeps signals 32 and 33 for itself; its posix_spawn(3) may leave them ignored.
        "grep -e SigBlk -e SigIgn /proc/self/status | cut -c 17-24 | sed s/^8/0/\n"
    )
    script = cuvein.folder / "script"
    script.write_text(text)
    script.chmod(0o755)
    # Under LANG=C the interpreter sets LC_CTYPE for itself.
    environment = {name: value for name, value in cuvein.environment.items() if not name.startswith("LC_")}
    environment |= {"LANG": "C", "SCENARIO": "{}"}
    plain = subprocess.run(
        [script], cwd=cuvein.folder, env=environment, capture_output=True, check=True, restore_signals=True
    )
    cuvein.environment = environment
    assert cuvein.run("run", "--", "./script").stdout == plain.stdout


# --- what comes out -----------------------------------------------------------------------------------------


def test_hundred_megabytes_of_output_arrive_unchanged(cuvein: Cuvein) -> None:
    block = bytes(range(256)) * 4096
    program = cuvein.program(
        "import sys\nblock = bytes(range(256)) * 4096\nfor _ in range(100): sys.stdout.buffer.write(block)"
    )
    done = cuvein.run("run", "--", *program)
    expected = hashlib.sha256()
    for _ in range(100):
        expected.update(block)
    assert len(done.stdout) == 100 * len(block)
    assert hashlib.sha256(done.stdout).hexdigest() == expected.hexdigest()


@pytest.mark.parametrize("status", [1, 3, 77, 120, 255])
def test_failing_program_keeps_its_status(cuvein: Cuvein, status: int) -> None:
    program = cuvein.program(f"{PROGRAM_WITH_CUDA}raise SystemExit({status})")
    assert cuvein.run("run", "--", *program, scenario={"problems": ["It broke."]}).returncode == status


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
def test_program_ended_by_a_signal_gives_the_status_of_a_shell(
    cuvein: Cuvein, number: signal.Signals
) -> None:
    program = cuvein.program(f"import os; os.kill(os.getpid(), {int(number)})")
    done = cuvein.run("run", "--", *program)
    assert done.returncode == 128 + number
    assert number.name in done.stderr.decode()


def test_program_is_ended_by_a_closed_pipe(cuvein: Cuvein) -> None:
    command = cuvein.arguments("run", "--", "yes")
    reader = subprocess.Popen(["head", "-n", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    done = subprocess.run(
        command,
        cwd=cuvein.folder,
        env=cuvein.environment,
        stdout=reader.stdin,
        stderr=subprocess.PIPE,
        check=False,
        timeout=30,
    )
    assert reader.communicate()[0] == b"y\n"
    assert done.returncode == 128 + signal.SIGPIPE


# --- signals ------------------------------------------------------------------------------------------------

COUNTING = (
    "import os, pathlib, signal, sys, time\n"
    "seen = []\n"
    "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):\n"
    "    signal.signal(number, lambda n, f: seen.append(n))\n"
    "pathlib.Path('ready').touch()\n"
    "end = time.monotonic() + 20\n"
    "while not seen and time.monotonic() < end: time.sleep(0.02)\n"
    "time.sleep(0.5)\n"
    "pathlib.Path('seen').write_text(repr([int(n) for n in seen]))\n"
    "sys.exit(7)\n"
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signal_to_cuvein_reaches_the_program_once(cuvein: Cuvein, number: signal.Signals) -> None:
    command = cuvein.arguments("run", "--", *cuvein.program(COUNTING))
    process = subprocess.Popen(command, cwd=cuvein.folder, env=cuvein.environment, stderr=subprocess.PIPE)
    started(cuvein.folder)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert (cuvein.folder / "seen").read_text() == repr([int(number)])
    assert process.returncode == 7


def test_control_c_reaches_the_program_once_and_cuvein_waits(cuvein: Cuvein) -> None:
    command = cuvein.arguments("run", "--", *cuvein.program(COUNTING))
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cuvein.folder)
        os.execve(sys.executable, command, cuvein.environment)  # type: ignore[arg-type]
    started(cuvein.folder)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert (cuvein.folder / "seen").read_text() == repr([int(signal.SIGINT)])
    assert os.waitstatus_to_exitcode(status) == 7


def test_no_thread_of_cuvein_takes_a_signal_meant_for_the_program(cuvein: Cuvein) -> None:
    text = (
        "import os, pathlib\n"
        "tasks = pathlib.Path(f'/proc/{os.getppid()}/task')\n"
        "for task in tasks.iterdir():\n"
        "    if int(task.name) != os.getppid():\n"
        "        print((task / 'status').read_text().partition('SigBlk:')[2].split()[0])\n"
    )
    blocked = [int(mask, 16) for mask in cuvein.run("run", "--", *cuvein.program(text)).stdout.split()]
    wanted = sum(1 << number - 1 for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    assert all(mask & wanted == wanted for mask in blocked)


# --- programs that cannot run -------------------------------------------------------------------------------


def test_missing_program_is_127(cuvein: Cuvein) -> None:
    done = cuvein.run("run", "--", "no-such-program")
    assert done.returncode == 127
    assert b"no-such-program" in done.stderr
    assert not list(cuvein.folder.iterdir())


@pytest.mark.parametrize("target", ["file", "folder", "n" * 5000])
def test_program_that_is_not_executable_is_126(cuvein: Cuvein, target: str) -> None:
    (cuvein.folder / "file").write_text("text")
    (cuvein.folder / "folder").mkdir()
    done = cuvein.run("run", "--", f"./{target}")
    assert done.returncode == 126
    assert b"cannot execute" in done.stderr
    assert b"Traceback" not in done.stderr


def test_script_without_its_interpreter_is_127_and_leaves_nothing(cuvein: Cuvein) -> None:
    script = cuvein.folder / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = cuvein.run("run", "--", "./script")
    assert done.returncode == 127
    assert [path.name for path in cuvein.folder.iterdir()] == ["script"]


def test_script_without_a_first_line_runs_in_sh(cuvein: Cuvein) -> None:
    script = cuvein.folder / "script"
    script.write_text("echo $0 $1\n")
    script.chmod(0o755)
    assert cuvein.run("run", "--", "./script", "x").stdout == b"./script x\n"


def test_without_a_driver_nothing_is_started(cuvein: Cuvein) -> None:
    done = cuvein.run("run", "--", "touch", "started", env={"LD_LIBRARY_PATH": ""})
    if done.returncode != 122:
        pytest.skip("this machine has a CUDA driver")
    assert b"libcuda.so.1" in done.stderr
    assert not list(cuvein.folder.iterdir())


# --- what was collected -------------------------------------------------------------------------------------


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


def test_incomplete_profile_is_121_and_named(cuvein: Cuvein) -> None:
    scenario = {"profiles": [None, "The disk is full."], "kernels": [["k", 2, 2]]}
    done = cuvein.run("run", "--", *cuvein.program(PROGRAM_WITH_CUDA), scenario=scenario)
    assert done.returncode == 121
    assert b"launch-000002.json: The disk is full." in done.stderr


def test_process_that_was_cut_off_is_121(cuvein: Cuvein) -> None:
    scenario = {"profiles": [None], "finished": False}
    done = cuvein.run("run", "--", *cuvein.program(PROGRAM_WITH_CUDA), scenario=scenario)
    assert done.returncode == 121
    assert b"cut off" in done.stderr


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
    assert (seen["engine"], seen["trace"], seen["kernel_name"]) == ("host", None, None)


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


# --- where it is written ------------------------------------------------------------------------------------


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


def test_default_folders_are_numbered(cuvein: Cuvein) -> None:
    scenario = {"profiles": [None], "kernels": [["k", 1, 1]]}
    program = cuvein.program("#!/usr/bin/env python3\n" + PROGRAM_WITH_CUDA, "my app")
    (cuvein.folder / "my app").chmod(0o755)
    for _ in range(2):
        assert cuvein.run("run", "--", program[1], scenario=scenario).returncode == 0
    assert {path.name for path in cuvein.folder.iterdir()} == {"my app", "cuvein-my_app-1", "cuvein-my_app-2"}


# --- usage --------------------------------------------------------------------------------------------------


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
