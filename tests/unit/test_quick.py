"""The short way through the command line of ``cuvein run`` says what the long way says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cuvein.cli import quick, run
from cuvein.cli.application import build
from cuvein.cli.running import Options
from cuvein.collect.configuration import MOST_WORKERS

PROGRAM = ["--", "app", "--force", "x"]
PLAIN = [
    [],
    ["-f", "-q", "-o", "out"],
    ["--output=out", "--engine", "gpu", "--quiet"],
    ["--kernel-name", "regex:a=b", "--exclude-kernel-name=-c", "--launch-skip", "3", "--launch-count=1"],
    ["--nvtx-include", "a", "--nvtx-include", "b", "--source-root", "x", "--source-root=y"],
    ["--trace", "t", "--no-profile", "--call-sites", "--merge-launches", "--profile-from-start", "off"],
    ["--source", "embed", "--workers", "16", "--ring-size", "65536", "--shadow-size", "4194304"],
    ["--engine", "host", "--engine", "auto"],
]


def parameters() -> list[Any]:
    command: Any = get_command(build(["run"]))
    return [each for each in command.commands["run"].params if each.name not in {"help", "command"}]


def long_way(words: list[str], monkeypatch: pytest.MonkeyPatch) -> Options:
    """Read the words with the library; the program is not run."""
    seen: list[Options] = []

    def keep(options: Options) -> int:
        seen.append(options)
        return 0

    with monkeypatch.context() as patch:
        patch.setattr(run.running, "run", keep)
        with pytest.raises(SystemExit) as ended:
            get_command(build(["run"]))(["run", *words])
    assert ended.value.code == 0
    return seen[0]


def test_options_are_the_same() -> None:
    known = dict(quick.FLAGS)
    known |= {name: field for name, (field, _) in quick.VALUES.items()}
    assert known == {word: each.name for each in parameters() for word in each.opts}
    assert set(quick.FLAGS.values()) == {each.name for each in parameters() if each.is_flag}
    assert set(quick.LISTS) == {each.name for each in parameters() if each.multiple}
    assert Options._fields[1:] == tuple(each.name for each in parameters())


@pytest.mark.parametrize(
    ("option", "least", "most"),
    [
        ("--launch-skip", 0, 2**63 - 1),
        ("--launch-count", 1, 2**63 - 1),
        ("--workers", 0, MOST_WORKERS),
        ("--ring-size", 0, 1 << 16),
        ("--shadow-size", 0, 1 << 22),
    ],
)
def test_bounds_are_the_same(option: str, least: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (least, most):
        words = [option, str(number), *PROGRAM]
        short = quick.parse(words)
        assert short is not None
        field = quick.VALUES[option][0]
        assert getattr(short, field) == getattr(long_way(words, monkeypatch), field) == number
    for number in (least - 1, most + 1):
        assert quick.parse([option, str(number), *PROGRAM]) is None
        with pytest.raises(SystemExit) as ended:
            get_command(build(["run"]))(["run", option, str(number), *PROGRAM])
        assert ended.value.code == 2


@pytest.mark.parametrize("words", PLAIN)
def test_plain_words_mean_the_same(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for program in (PROGRAM, ["app", "-o", "--", "x"]):
        short = quick.parse([*words, *program])
        assert short is not None
        long = long_way([*words, *program], monkeypatch)
        same = {"nvtx_include": long.nvtx_include or None, "source_roots": long.source_roots or None}
        assert short == long._replace(**same)
        assert short.output is None or isinstance(short.output, Path)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--"],
        ["--help"],
        ["-h", "--", "app"],
        ["--no-such-option", "--", "app"],
        ["--force=1", "--", "app"],
        ["-oout", "--", "app"],
        ["-fq", "--", "app"],
        ["--engine", "cpu", "--", "app"],
        ["--workers", "many", "--", "app"],
        ["--workers", "²", "--", "app"],
        ["--output"],
        ["--out", "x", "--", "app"],
    ],
)
def test_all_else_is_left_to_the_long_way(words: list[str]) -> None:
    assert quick.parse(words) is None


def test_options_that_make_no_sense_together_are_explained_by_the_long_way(tmp_path: Path) -> None:
    words = ["run", "--no-profile", "--", "true"]
    done = subprocess.run(
        [sys.executable, "-m", "cuvein", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Usage:" in done.stderr
    assert "--trace" in done.stderr


def test_a_run_loads_nothing_that_is_slow_before_the_program_starts(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from cuvein.cli import quick, running\n"
        "from cuvein.collect import driver, process\n"
        "class There:\n"
        "    def version(self): return (99, 0)\n"
        "driver.load = lambda: There()\n"
        "def stop(*rest):\n"
        "    print(*sorted(sys.modules))\n"
        "    sys.exit()\n"
        "process.run = stop\n"
        "running.run(quick.parse(['-o', 'out', '--', 'true']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    slow = {"typer", "msgspec", "dataclasses", "inspect", "importlib.metadata", "subprocess", "numpy", "rich"}
    loaded = set(done.stdout.split())
    assert "cuvein.collect.launch" in loaded
    assert not slow & loaded
