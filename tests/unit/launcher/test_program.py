"""The launched program: what goes in, what comes out, and programs that cannot run."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess

import pytest

from stand_ins.launcher import PROGRAM_WITH_CUDA, Cuvein


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


def test_order_of_barriers_is_followed_when_asked_for(cuvein: Cuvein) -> None:
    program = cuvein.program("import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)")
    for words, asked in (([], False), (["--barrier-order", "off"], False), (["--barrier-order", "on"], True)):
        cuvein.run("run", "--force", *words, "--", *program, env={"SEEN": "seen.json"})
        assert json.loads((cuvein.folder / "seen.json").read_text())["barrier_order"] is asked
    done = cuvein.run("run", "--barrier-order", "maybe", "--", *program)
    assert done.returncode == 2
    assert b"--barrier-order" in done.stderr


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
