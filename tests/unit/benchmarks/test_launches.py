"""The benchmark of launches, with made-up programs: it goes on after what fails and keeps the rest."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import launches
from machine import build, device, session

GPU = SimpleNamespace(name="GPU", architecture="sm_90", driver="1", cuda="13")


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A GPU whose programs write 2 numbers a way; ``overlap`` does not end, ``--merge-launches`` dies."""

    def execute(command, limit=120, environment=None, cwd=None):
        if command[0].endswith("overlap"):
            raise TimeoutError("still ran")
        for word in command:
            if word.endswith(launches.NUMBERS):
                Path(word).write_text("2.0 7 7\n")
        return session.Outcome(0, b"first 5, memory 3; 4.5\n", b"")

    def profile(folder, command, *options, timeout=0):
        if "--merge-launches" in options:
            return SimpleNamespace(outcome=session.Outcome(139, b"", b"it died\n"))
        return SimpleNamespace(outcome=execute(command, timeout))

    monkeypatch.setattr(device, "find", lambda: GPU)
    monkeypatch.setattr(build, "nvcc", lambda: "nvcc")
    monkeypatch.setattr(launches, "keep_gpu_awake", lambda: None)
    monkeypatch.setattr(launches.own_environment, "use", lambda: None)
    monkeypatch.setattr(launches.subjects, "python_with_torch", lambda: None)
    monkeypatch.setattr(
        build, "compile_all", lambda names, *_: {n.split("/")[-1][:-3]: n[:-3] for n in names}
    )
    monkeypatch.setattr(session, "execute", execute)
    monkeypatch.setattr(session, "profile", profile)

    def run(*words):
        output = tmp_path / "launches.json"
        monkeypatch.setattr(sys, "argv", ["launches.py", "--output", str(output), *words])
        return launches.main(), json.loads(output.read_text())

    return run


def test_what_fails_is_named_and_the_others_go_on(machine, capsys):
    status, found = machine("--repetitions", "3")
    assert status == 1
    assert found["launches"]["ways"]["gpu, merged"] == {"failure": "status 139: it died"}
    assert found["launches"]["ways"]["gpu"]["numbers"] == [2.0, 7.0, 7.0]
    assert found["overlap"]["ways"]["host"] == {"failure": "more than 60 s"}
    assert found["tiny"]["ways"]["plain"]["numbers"] == [5.0, 3.0, 4.5]
    assert found["many blocks"]["ways"]["host"]["seconds"] >= 0
    assert found["not_begun"] == ["operators: no python3 here has PyTorch and Triton"]
    said = capsys.readouterr().out
    assert "FAILED: launches, gpu, merged: status 139: it died" in said
    assert "device memory: 7 MiB after a tenth of them, 7 after all: flat" in said


def test_no_comparison_is_begun_when_the_time_is_up(machine):
    status, found = machine("--budget", "1e-9")
    assert status == 0
    assert [name for name in found if isinstance(found[name], dict) and "ways" in found[name]] == []
    assert "launches: the time given was used up" in found["not_begun"]


def test_one_comparison_can_be_chosen(machine):
    _, found = machine("unselected")
    assert "unselected" in found
    assert "launches" not in found


def test_memory_that_grows_and_slow_launches_are_missed_goals():
    def ways(**numbers):
        return {"ways": {way: {"seconds": 1, "times": 5.0, "numbers": told} for way, told in numbers.items()}}

    document = {
        "count": 10,
        "launches": ways(plain=[1.0, 0, 0], auto=[4.0, 7, 8], gpu=[9.0, 7, 8]),
        "unselected": ways(plain=[1.0], gpu=[1.2]),
    }
    said = launches.judge(document)
    assert len(said) == 5
    assert said[2].startswith("10 launches, engine auto: 4.0 x their time, 5.00 x the program")
    assert all("MISSED" in sentence for sentence in said)
