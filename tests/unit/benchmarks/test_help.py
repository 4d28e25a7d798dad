"""Each benchmark tells what it does where it cannot do it, and measures nothing then."""

from __future__ import annotations

import argparse
import functools
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import machine

if TYPE_CHECKING:
    from types import ModuleType

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
SCRIPTS = sorted(path.name for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text())


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_needs_nothing_and_measures_nothing(name, tmp_path):
    told = subprocess.run(
        [sys.executable, BENCHMARKS / name, "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        # Without a GPU, a compiler and a browser a measurement would end here.
        env={"PATH": str(tmp_path), "TMPDIR": str(tmp_path)},
    )
    assert told.stdout.startswith(f"usage: {name}")
    assert not told.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name",
    [
        "barrier_order",
        "call_sites",
        "cases",
        "fidelity",
        "kernel_times",
        "launches",
        "micro",
        "operators",
        "overhead",
        "probe_passes",
        "scaling",
        "stability",
    ],
)
def test_what_is_missing_is_said_in_a_sentence(name, tmp_path):
    words = {"operators": ["softmax"], "scaling": ["--engine", "gpu"]}.get(name, [])
    script = BENCHMARKS / (name if name == "micro" else f"{name}.py")
    told = subprocess.run(
        [sys.executable, script, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PATH": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""},
    )
    assert told.returncode == 2
    assert told.stderr.startswith(f"{name}: ")
    assert told.stderr.count("\n") == 1


NUMBERS = {
    "--budget": ("0", "-1", "nan", "inf", "1e300", "soon"),
    "--count": ("0", "-1", "2.5"),
    "--each": ("0", "-1", "nan", "inf"),
    "--jobs": ("0", "-1", "many"),
    "--kernels": ("0",),
    "--launches": ("0", "-300"),
    "--limit": ("0", "-1", "nan", "inf", "1e7"),
    "--nodes": ("0",),
    "--profiles": ("0",),
    "--records": ("0", "-1", "999"),
    "--repetitions": ("0", "-1"),
    "--rounds": ("0", "-1"),
    "--runs": ("0", "-1", "1e3"),
    "--seconds": ("0", "-1", "nan", "inf"),
    "--shrink": ("0", "-8"),
    "--times": ("0", "-1"),
    "--wasteful": ("-0.1", "1.1", "nan"),
    "--workers": ("0", "-1", "1000000"),
}


FILES = {"Path", "new_file", "added_to", "kept"}


def load(module: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load a script; not by its name, which another module may have."""
    path = (BENCHMARKS / Path(*module.split("."))).with_suffix(".py")
    spec = importlib.util.spec_from_file_location("benchmark", path)
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "benchmark", loaded)
    spec.loader.exec_module(loaded)
    return loaded


class ParsingError(Exception):
    """A script has come to where it reads its command line."""


def parser_of(module: str) -> argparse.ArgumentParser:
    """Return the parser that a script would read its command line with."""

    def stop(parser: argparse.ArgumentParser, *_: object) -> None:
        raise ParsingError(parser)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", stop)
        loaded = load(module, patch)
        with pytest.raises(ParsingError) as parsing:
            loaded.main()
    (parser,) = parsing.value.args
    return parser


@functools.cache
def options() -> list[tuple[str, str, str]]:
    """Give module, option and type of each option that takes a value, by the name of what makes the type."""
    return [
        (module, action.option_strings[-1], action.type.__qualname__.partition(".")[0])
        for module in [*(name.removesuffix(".py") for name in SCRIPTS), "micro.__main__"]
        for action in parser_of(module)._actions
        if action.option_strings and action.type is not None
    ]


def numeric_options() -> list[tuple[str, str]]:
    # What reads no file name and no choice reads a number.
    return [(module, option) for module, option, kind in options() if kind not in FILES]


def refusal(loaded: ModuleType, *words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a script that is to refuse its options; what it says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [loaded.__name__, *words])
        with pytest.raises(SystemExit) as ended:
            loaded.main()
    assert ended.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(("module", "option"), numeric_options())
def test_a_number_that_makes_no_sense_is_refused(module, option, monkeypatch, capsys):
    loaded = load(module, monkeypatch)
    for number in NUMBERS[option]:
        assert f"argument {option}: {number!r} is no " in refusal(loaded, option, number, capsys=capsys)


OUTPUTS = [(module, option) for module, option, kind in options() if kind in {"new_file", "added_to"}]


@pytest.mark.parametrize(("module", "option"), OUTPUTS)
def test_a_result_that_could_not_be_written_is_refused_before_it_is_measured(
    module, option, monkeypatch, capsys, tmp_path
):
    file = tmp_path / "file"
    file.write_text("some text")
    loaded = load(module, monkeypatch)
    assert "is a folder, not a file to write" in refusal(loaded, option, str(tmp_path), capsys=capsys)
    assert "cannot be written" in refusal(loaded, option, str(file / "below"), capsys=capsys)
    if (module, option, "added_to") in options():
        assert "holds no JSON object" in refusal(loaded, option, str(file), capsys=capsys)
    assert file.read_text() == "some text"


def test_all_scripts_with_results_are_looked_at():
    assert {"scaling", "stability", "fidelity", "overhead"} <= {module for module, _ in OUTPUTS}


@pytest.mark.parametrize(("module", "other"), [("fidelity", "overhead"), ("overhead", "fidelity")])
def test_results_of_something_else_are_refused(module, other, monkeypatch, capsys, tmp_path):
    loaded = load(module, monkeypatch)
    wrong = tmp_path / "wrong"
    wrong.write_text("[1]")
    for file, words in (
        (tmp_path / "nowhere", "cannot be read: No such file or directory"),
        (wrong, "holds no JSON object"),
        (BENCHMARKS / "results" / "micro.json", "is no result of programs"),
        (BENCHMARKS / "results" / f"{other}.json", "is no result of this benchmark: a program in it has no "),
    ):
        assert words in refusal(loaded, "--again", str(file), capsys=capsys)


@pytest.mark.parametrize("module", ["fidelity", "overhead"])
def test_groups_that_there_are_not_are_refused(module, monkeypatch, capsys):
    loaded = load(module, monkeypatch)
    assert "unknown: nosuch; known: examples, " in refusal(loaded, "rodinia/bfs", "nosuch/bfs", capsys=capsys)


def test_all_scripts_with_numbers_are_looked_at():
    found = numeric_options()
    assert {option for _, option in found} == set(NUMBERS)
    assert ("stability", "--runs") in found


@pytest.mark.parametrize("nodes", ["1", "9", "40"])
def test_findings_of_any_number_of_nodes(nodes, tmp_path):
    words = ["--profiles", "1", "--nodes", nodes, "--kernels", "1"]
    subprocess.run([sys.executable, BENCHMARKS / "findings.py", *words], check=True, cwd=tmp_path)


def test_a_gpu_without_a_compiler_is_not_enough(monkeypatch, capsys):
    monkeypatch.setattr(machine.device, "find", lambda: machine.device.Gpu("GPU", "sm_90", None, "13.0"))
    monkeypatch.setattr(machine.build, "nvcc", lambda: None)
    parser = argparse.ArgumentParser(prog="stability.py")
    assert machine.demand_gpu(parser, compiler=False).architecture == "sm_90"
    with pytest.raises(SystemExit) as ended:
        machine.demand_gpu(parser)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("stability: no nvcc: ")


@pytest.mark.parametrize("module", ["fidelity", "overhead"])
def test_operators_need_no_compiler(module, monkeypatch, capsys):
    loaded = load(module, monkeypatch)
    monkeypatch.setattr(machine.device, "find", lambda: machine.device.Gpu("GPU", "sm_90", None, "13.0"))
    monkeypatch.setattr(machine.build, "nvcc", lambda: None)
    assert "no nvcc" in refusal(loaded, "torch/rows", "rodinia/bfs", capsys=capsys)

    def find(*_, **__):
        raise RuntimeError("it begins")

    monkeypatch.setattr(loaded.subjects, "find", find)
    if module == "overhead":
        monkeypatch.setattr(loaded.own_environment, "use", lambda: None)
    monkeypatch.setattr(sys, "argv", [module, "torch/rows", "triton"])
    with pytest.raises(RuntimeError, match="it begins"):
        loaded.main()
