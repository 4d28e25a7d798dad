"""What ``benchmarks/cases.py`` says, before it takes any step, of a machine that lacks a tool."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import machine

PATH = Path(__file__).resolve().parents[3] / "benchmarks" / "cases.py"


@pytest.fixture
def program(monkeypatch, tmp_path):
    """The module, on a machine that has a GPU and nothing else."""
    # Not by its name, which is that of a folder of tests, too.
    spec = importlib.util.spec_from_file_location("benchmark_of_cases", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    gpu = machine.device.Gpu("H200", "sm_90", "1", "13.0")
    monkeypatch.setattr(machine.device, "find", lambda: gpu)
    monkeypatch.setattr(machine.build, "nvcc", lambda: "nvcc")
    monkeypatch.setattr(module, "compile_all", lambda *_: pytest.fail("something was built"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return module


@pytest.mark.parametrize(
    ("has_nvcc", "said"),
    [(True, "cases: no ncu on PATH"), (False, "cases: no nvcc")],
)
def test_a_missing_tool_is_one_sentence(has_nvcc, said, program, monkeypatch, capsys):
    if not has_nvcc:
        monkeypatch.setattr(machine.build, "nvcc", lambda: None)
    monkeypatch.setattr(sys, "argv", ["cases.py"])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(said)
    assert printed.err.count("\n") == 1


def test_observing_needs_no_ncu(program, monkeypatch):
    def compile_all(*_):
        raise RuntimeError("it begins")

    monkeypatch.setattr(program, "compile_all", compile_all)
    monkeypatch.setattr(sys, "argv", ["cases.py", "--step", "observe"])
    with pytest.raises(RuntimeError, match="it begins"):
        program.main()


@pytest.fixture
def cases(program, monkeypatch, tmp_path):
    """Return a function that runs the program in a work folder; it returns what was taken."""
    taken = []

    def action(case, folder):
        taken.append(case.name)
        return {name: {"before": {}, "after": {}} for name in ("count", "time")}

    def compile_all(chosen, work, _):
        for case in chosen:
            (work / case.name).mkdir(parents=True, exist_ok=True)
        return {}

    def run(*words, at="0123456789ab"):
        taken.clear()
        monkeypatch.setattr(program.machine, "describe", lambda: {"commit": at})
        monkeypatch.setattr(sys, "argv", ["cases.py", "--step", "count", *words])
        assert program.main() == 0
        return list(taken)

    monkeypatch.setattr(program.shutil, "which", lambda name: name)
    monkeypatch.setattr(program, "compile_all", compile_all)
    monkeypatch.setattr(program, "count", action)
    monkeypatch.setattr(program.cases_page, "table", lambda _: "")
    monkeypatch.setattr(program.cases_page, "goals", lambda _: [])
    place = ("--work", str(tmp_path / "work"), "--results", str(tmp_path / "cases.json"))
    return lambda *words, **more: run(*place, *words, **more)


def test_resuming_takes_what_has_no_result_of_this_commit(cases):
    assert cases("softmax") == ["softmax"]
    assert cases("--resume", "softmax", "ttm") == ["ttm"]
    assert cases("softmax") == ["softmax"]
    assert cases("--resume", "softmax", at="ba9876543210") == ["softmax"]


@pytest.mark.parametrize("commit", [None, "0123456789ab-dirty"])
def test_nothing_is_resumed_where_the_commit_does_not_tell_what_was_measured(commit, cases):
    assert cases("softmax", at=commit) == ["softmax"]
    assert cases("--resume", "softmax", at=commit) == ["softmax"]


def test_counters_and_cycles_are_those_of_a_run(program, monkeypatch):
    total, ratio = "a.sum", "b.ratio"
    asked = []

    def launches(command, metrics, **options):
        asked.append((command, options["cold"]))
        # Two kernels a run, and every run takes one cycle more.
        return [
            program.nsight.Launch(name, (1, 1, 1), (1, 1, 1), {total: 3, ratio: value, program.CYCLES: run})
            for run in range(program.RUNS)
            for name, value in (("first", 1), ("second", 2))
        ]

    monkeypatch.setattr(program.case_studies, "METRICS", [total, ratio])
    monkeypatch.setattr(program.nsight, "count", launches)
    found = program.count(program.case_studies.cases()["softmax"], Path("work"))
    assert found["count"]["before"] == found["count"]["after"] == {total: 6, ratio: 1.5}
    assert found["time"]["before"] == found["time"]["after"] == [2 * run for run in range(program.RUNS)]
    assert [(command[0], command[-2:]) for command, _ in asked] == [
        (f"work/{variant}", ["--repeat", "10"]) for variant in ("before", "after")
    ]
    assert all(cold for _, cold in asked)
