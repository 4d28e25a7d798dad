"""From the ring to the files, without a GPU: nothing is lost, however the program ends."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from cuvein import native
from cuvein.collect import journal, outcome
from cuvein.profile import decode as read_profile
from cuvein.profile import read, read_process

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "native"
LAUNCHES = 400


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    compiler = shutil.which("c++")
    objects = sorted(BUILT.glob("CMakeFiles/core.dir/native/**/*.o")) + sorted(
        BUILT.glob("CMakeFiles/cuvein_monitor.dir/native/**/*.o")
    )
    if compiler is None or not objects:
        pytest.skip("there is no C++ compiler (c++), or the native parts were not built here (make setup)")
    found = subprocess.run(
        [sys.executable, ROOT / "cmake" / "wheels.py"], capture_output=True, text=True, check=True
    )
    wheels = dict(line.partition("=")[::2] for line in found.stdout.splitlines())
    made = tmp_path_factory.mktemp("host-side") / "program"
    headers = [
        flag for name in ("SANITIZER", "CUDA", "JSON") for flag in ("-isystem", wheels[f"{name}_INCLUDE"])
    ]
    command = [
        *(compiler, "-std=c++17", "-O1", "-pthread", f"-I{ROOT / 'native'}", f"-I{BUILT / 'generated'}"),
        *(*headers, ROOT / "tests" / "emulation" / "host_side.cpp", *objects),
        *(wheels["ZLIB_LIBRARY"], f"-Wl,-rpath,{Path(wheels['ZLIB_LIBRARY']).parent}", "-ldl", "-o", made),
    ]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return [str(made)]


def run(program: list[str], folder: Path, mode: str) -> Path:
    """Run it; return the folder of its process."""
    done = subprocess.run(
        [*program, folder, str(LAUNCHES), mode], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.iterdir())


def profiles(process: Path) -> dict[str, str]:
    """The text of each profile, but for what differs from process to process."""
    summary = read_process(process).process
    words = [f'"{word}"' for word in summary.arguments[1:]]
    own = re.compile("|".join(map(re.escape, (summary.id, f'"pid":{summary.pid}', *words))))
    return {file.name: own.sub("*", file.read_text()) for file in process.glob("launch-*.json")}


@pytest.fixture(scope="module")
def expected(program: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    process = run(program, tmp_path_factory.mktemp("whole") / "out", "finish")
    assert not (process / "journal").exists()
    module = hashlib.sha256(b"cubin").hexdigest()
    assert (process / "modules" / f"{module}.cubin").read_bytes() == b"cubin"
    summary = read_process(process)
    assert summary.finished
    assert (summary.profiles, summary.incomplete) == (LAUNCHES, LAUNCHES // 7)
    for file in process.glob("launch-*.json"):
        profile = read(file)
        assert profile.engine == "gpu"
        assert len(profile.nodes) == 12
        assert profile.launch.kernel.module == module
        assert (profile.incomplete is not None) == (profile.launch.sequence % 7 == 0)
    return profiles(process)


def test_profiles_of_counts_are_those_made_of_the_launch(
    program: list[str], expected: dict[str, str], tmp_path: Path
) -> None:
    assert profiles(run(program, tmp_path / "out", "many")) == expected


def test_program_that_leaves_has_all_its_profiles(
    program: list[str], expected: dict[str, str], tmp_path: Path
) -> None:
    process = run(program, tmp_path / "out", "leave")
    assert not read_process(process).finished
    found = outcome.read(tmp_path / "out")
    assert (found.profiles, len(found.incomplete), found.unreadable) == (LAUNCHES, LAUNCHES // 7, [])
    assert profiles(process) == expected
    assert not (process / "journal").exists()


@pytest.mark.parametrize("seconds", [0.05, 0.1, 0.2, 0.4])
def test_killed_program_has_the_profile_of_each_launch_that_it_knew_done(
    program: list[str], expected: dict[str, str], tmp_path: Path, seconds: float
) -> None:
    with subprocess.Popen([*program, tmp_path / "out", "1000000", "tell"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        known = process.stdout.read(4)  # it may take a while to start
        time.sleep(seconds)
        process.kill()
        known += process.stdout.read()
    done = len(known) // 4
    assert done > 0
    found = outcome.read(tmp_path / "out")
    assert found.unreadable == []
    (folder,) = (process.folder for process in found.processes)
    files = {int(file.stem.partition("-")[2]): file for file in folder.glob("launch-*.json")}
    assert set(range(1, done + 1)) <= files.keys()
    for sequence in [*range(1, min(done, 20) + 1), *range(max(done - 20, 1), max(files) + 1)]:
        assert read(files[sequence]).launch.sequence == sequence
    made = profiles(folder)
    for name in list(expected)[:20]:
        if name in made and int(name[7:13]) <= done:
            assert made[name] == expected[name]


def test_what_cannot_be_written_is_kept(program: list[str], expected: dict[str, str], tmp_path: Path) -> None:
    process = run(program, tmp_path / "out", "full")
    # The journal has room for them all, and its own file was there before.
    assert len(list(process.glob("launch-*.json"))) < LAUNCHES
    before = (process / "journal").stat().st_size
    assert before > 0
    found = outcome.read(tmp_path / "out")
    assert (found.profiles, found.unreadable) == (LAUNCHES, [])
    assert profiles(process) == expected


def test_counts_that_make_no_sense_are_refused(program: list[str], tmp_path: Path) -> None:
    process = run(program, tmp_path / "out", "full")
    # Of a process that has ended; nothing else reads it here.
    data = (process / "journal").read_bytes()
    entries = list(journal._entries(data, journal._table(data) or []))
    sequence, kind, counts = entries[0]
    assert kind == 2
    assert read_profile(native.counted_profile(counts)).launch.sequence == sequence
    for end in range(len(counts)):
        with pytest.raises(native.InvalidError):
            native.counted_profile(counts[:end])
    with pytest.raises(native.InvalidError):
        native.counted_profile(counts + b"more")
    random = Random(7)
    for _ in range(2000):
        damaged = bytearray(counts)
        for _ in range(random.randint(1, 4)):
            damaged[random.randrange(len(damaged))] = random.randrange(256)
        with suppress(native.InvalidError):
            native.counted_profile(bytes(damaged))


def python(*words: str | Path, no_room: bool = False) -> subprocess.CompletedProcess[str]:
    """Run Python, where asked to with no room for files."""
    limit = (
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    return subprocess.run(
        [*([sys.executable, "-c", limit] if no_room else []), sys.executable, *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )


def test_a_run_that_finds_no_room_says_how_to_go_on(program: list[str], tmp_path: Path) -> None:
    process = run(program, tmp_path / "out", "full")
    code = (
        "import sys; from pathlib import Path; from cuvein.collect import outcome;"
        "print(outcome.read(Path(sys.argv[1])).unreadable)"
    )
    done = python("-c", code, tmp_path / "out", no_room=True)
    assert f"What has no file yet is in {process / 'journal'}" in done.stdout
    assert f"this does it: cuvein report {tmp_path / 'out'}" in done.stdout
    assert (process / "journal").exists()


def test_report_takes_what_was_left(program: list[str], tmp_path: Path) -> None:
    process = run(program, tmp_path / "out", "full")
    left = LAUNCHES - len(list(process.glob("launch-*.json")))
    assert left > 0
    done = python("-m", "cuvein", "report", tmp_path / "out")
    noun = "profile" if left == 1 else "profiles"
    assert f"cuvein: {left} {noun} that had no file yet written to {process}\n" in done.stderr
    assert len(list(process.glob("launch-*.json"))) == LAUNCHES
    again = python("-m", "cuvein", "report", tmp_path / "out")
    assert "no file yet" not in again.stderr
    assert again.stdout == done.stdout


def test_report_says_where_the_rest_is_when_it_cannot_be_written(program: list[str], tmp_path: Path) -> None:
    process = run(program, tmp_path / "out", "full")
    done = python("-m", "cuvein", "report", tmp_path / "out", no_room=True)
    assert f"Until then profiles in {process / 'journal'} are left out." in done.stderr
    assert "Traceback" not in done.stderr
    assert (process / "journal").exists()
    assert outcome.read(tmp_path / "out").profiles == LAUNCHES
