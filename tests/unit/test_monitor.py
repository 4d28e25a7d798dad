"""The monitor in a process without a GPU: what it leaves behind, and that the program does not notice it.

The CUDA driver would load the library and call ``InitializeInjection``; here a small program does.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from cuvein.collect import installation
from cuvein.profile import read_process

if TYPE_CHECKING:
    from pathlib import Path

LOAD = """
import ctypes, os, sys
monitor = ctypes.CDLL(sys.argv[1])
assert monitor.InitializeInjection() == 1
assert monitor.InitializeInjection() == 1
"""


HIDE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
FILE* fopen64(const char* path, const char* mode) {
  if (strstr(path, "/random/uuid")) return errno = ENOENT, NULL;
  return ((FILE * (*)(const char*, const char*)) dlsym(RTLD_NEXT, "fopen64"))(path, mode);
}
FILE* fopen(const char* path, const char* mode) { return fopen64(path, mode); }
"""


@pytest.fixture
def library() -> str:
    return str(installation.monitor())


def configuration(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    return {
        "sanitizer": str(tmp_path / "no-such-library.so"),
        "patches": str(tmp_path),
        "output": str(tmp_path / "out"),
        "trace": None,
        "root_pid": 0,
        "engine": "host",
        "workers": 1,
        **changes,
    }


def run(
    library: str, tmp_path: Path, program: str = "", text: str | None = None, **changes: Any
) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "configuration.json"
    path.write_text(text if text is not None else json.dumps(configuration(tmp_path, **changes)))
    return subprocess.run(
        [sys.executable, "-c", LOAD + program, library],
        env={**os.environ, "CUVEIN_CONFIG": str(path), "CUVEIN_ROOT": str(os.getpid())},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def folders(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "out").glob("process-*"))


def silent(outcome: subprocess.CompletedProcess[str], status: int = 0) -> None:
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (status, "", "")


def test_missing_library_is_a_problem_of_the_profile_not_of_the_program(library: str, tmp_path: Path) -> None:
    silent(run(library, tmp_path, "sys.exit(7)"), 7)
    (folder,) = folders(tmp_path)
    process = read_process(folder)
    assert process.finished
    assert (process.profiles, process.incomplete) == (0, 0)
    assert process.kernels_seen == []
    assert len(process.problems) == 1
    assert "no-such-library.so" in process.problems[0]
    assert process.process.arguments[0] == sys.executable
    assert sorted(path.name for path in folder.iterdir()) == ["modules", "process.json"]


def test_library_that_is_something_else(library: str, tmp_path: Path) -> None:
    silent(run(library, tmp_path, sanitizer=library))
    (problem,) = read_process(folders(tmp_path)[0]).problems
    assert "has no function sanitizer" in problem


def test_the_api_itself_can_be_loaded_anywhere(library: str, tmp_path: Path) -> None:
    silent(run(library, tmp_path, sanitizer=str(installation.sanitizer()), sanitizer_version="1.2.3"))
    process = read_process(folders(tmp_path)[0])
    assert process.problems == []
    assert process.process.versions.sanitizer == "1.2.3"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"workers": "many"}', '{"launch_skip": -1, "output": 3}'])
def test_configuration_that_cannot_be_read_disables(text: str, library: str, tmp_path: Path) -> None:
    silent(run(library, tmp_path, "sys.exit(3)", text=text), 3)
    assert folders(tmp_path) == []


def test_bad_expression_is_a_problem(library: str, tmp_path: Path) -> None:
    silent(run(library, tmp_path, kernel_name="(", sanitizer=library))
    problems = read_process(folders(tmp_path)[0]).problems
    assert any("--kernel-name ( is not a regular expression" in problem for problem in problems)


def test_output_that_cannot_be_made_does_not_stop_the_program(library: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    silent(run(library, tmp_path, "sys.exit(5)", output=str(tmp_path / "file" / "out")), 5)


def test_trace_is_there_without_kernels_and_its_absence_is_a_problem(library: str, tmp_path: Path) -> None:
    silent(run(library, tmp_path, trace=str(tmp_path / "trace.cuvein")))
    assert read_process(folders(tmp_path)[0]).trace == str(tmp_path / "trace.cuvein")
    assert (tmp_path / "trace.cuvein").stat().st_size > 0
    silent(run(library, tmp_path, trace=str(tmp_path / "nowhere" / "trace.cuvein")))
    process = read_process(folders(tmp_path)[1])
    assert process.trace is None
    assert any("trace.cuvein" in problem for problem in process.problems)


def test_trace_of_a_child_has_its_pid(library: str, tmp_path: Path) -> None:
    silent(run(library, tmp_path, trace=str(tmp_path / "trace.cuvein"), root_pid=1))
    (folder,) = folders(tmp_path)
    pid = folder.name.partition("-")[2]
    assert (tmp_path / f"trace.{pid}.cuvein").exists()
    assert not (tmp_path / "trace.cuvein").exists()


@pytest.mark.parametrize("leave", ["os._exit(4)", "sys.exit(4)"])
def test_forked_child_leaves_the_account_to_its_parent(leave: str, library: str, tmp_path: Path) -> None:
    program = f"""
pid = os.fork()
if pid == 0:
    {leave}
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4
sys.exit(6)
"""
    silent(run(library, tmp_path, program, sanitizer=str(installation.sanitizer())), 6)
    (folder,) = folders(tmp_path)
    assert read_process(folder).finished


def test_program_that_replaces_itself_gets_a_second_folder(library: str, tmp_path: Path) -> None:
    program = """
if len(sys.argv) < 3:
    code = open("/proc/self/cmdline", "rb").read().split(b"\\0")[2].decode()
    os.execv(sys.executable, [sys.executable, "-c", code, sys.argv[1], "again"])
"""
    silent(run(library, tmp_path, program))
    first, second = folders(tmp_path)
    assert second.name == first.name + "-2"
    assert not read_process(first).finished
    assert read_process(second).finished


def test_processes_differ_where_the_system_has_no_unique_name_for_them(library: str, tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler (cc) to hide a file with")
    source, shim = tmp_path / "hide.c", tmp_path / "hide.so"
    source.write_text(HIDE)
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", shim, "-ldl"], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(shim))
        silent(run(library, tmp_path))
    process = read_process(folders(tmp_path)[0]).process
    assert process.id.startswith(f"{process.pid}-")


def test_killed_program_leaves_an_account_that_says_so(library: str, tmp_path: Path) -> None:
    assert run(library, tmp_path, "os.kill(os.getpid(), 9)").returncode == -9
    assert not read_process(folders(tmp_path)[0]).finished


def test_arguments_that_are_no_text_are_kept_readable(library: str, tmp_path: Path) -> None:
    path = tmp_path / "configuration.json"
    path.write_text(json.dumps(configuration(tmp_path)))
    subprocess.run(
        [os.fsencode(sys.executable), b"-c", LOAD.encode(), library.encode(), b"\xff\xfe a b"],
        env={**os.environ, "CUVEIN_CONFIG": str(path)},
        timeout=60,
        check=True,
    )
    assert read_process(folders(tmp_path)[0]).process.arguments[-1].endswith(" a b")
