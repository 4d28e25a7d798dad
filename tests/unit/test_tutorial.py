"""What the tutorial shows is what its programs, their recordings and the counters really gave."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from statistics import mean

import pytest

from reference.commands import cuvein

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
CASE = "alignment"
SOURCES = ROOT / "examples" / "cases" / CASE
# What ncu printed for the programs in their full size, on the machine named in the page.
COUNTED = ROOT / "tests" / "golden" / "tutorial"
ELIDED = "..."
RESULTS = ROOT / "benchmarks" / "results" / "cases.json"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def consoles(program: str) -> list[tuple[list[str], str]]:
    """Return the commands shown that call a program, with what follows them."""
    found = []
    for block in blocks("console"):
        command, _, output = block.partition("\n")
        words = shlex.split(command.removeprefix("$ "))
        if words[0] == program and output:
            found.append((words, output))
    return found


def plain(program: str) -> list[list[str]]:
    """Return the commands whose output is not shown that call a program."""
    lines = re.findall(
        r"^    (\S.*)$", re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    return [words for words in map(shlex.split, lines) if words[0] == program]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of what the page needs of the repository, after what it says to do without a GPU."""
    place = tmp_path_factory.mktemp("tutorial")
    (place / "tests").symlink_to(ROOT / "tests")
    (place / "examples").symlink_to(ROOT / "examples")
    for words in plain("cuvein"):
        if words[1] == "analyze":
            cuvein(place, *words[1:])
    return place


def in_order(shown: str, whole: str) -> None:
    """Check that the lines of ``shown`` are lines of ``whole``, in that order; elisions aside."""
    lines = iter(line.rstrip() for line in whole.splitlines())
    for line in shown.splitlines():
        if line.strip() not in ("", ELIDED):
            assert line.rstrip() in lines, line


COMMANDS = consoles("cuvein")


@pytest.mark.parametrize(("words", "output"), COMMANDS, ids=[" ".join(words) for words, _ in COMMANDS])
def test_cuvein_prints_what_the_page_shows(words: list[str], output: str, folder: Path) -> None:
    in_order(output, cuvein(folder, *words[1:]))


def after(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


def test_a_reader_with_a_gpu_makes_the_same_folders_and_none_where_a_program_is() -> None:
    made = {words[1]: [] for words in plain("cuvein")}
    for words in plain("cuvein"):
        made[words[1]].append(after(words, "--output"))
    assert made["run"] == made["analyze"]
    programs = [after(words, "-o") for words in plain("nvcc")]
    assert len(programs) == len(made["run"])
    assert not {*programs} & {*made["run"]}


def test_the_check_at_the_end_fails_as_the_page_says(folder: Path) -> None:
    (words,) = re.findall(r"`cuvein (check [^`]+)`", PAGE)
    with pytest.raises(subprocess.CalledProcessError) as failure:
        cuvein(folder, *shlex.split(words))
    assert failure.value.returncode == 1


def test_the_page_shows_findings_and_comparison() -> None:
    assert {words[1] for words, _ in COMMANDS} >= {"report", "diff"}


def test_ncu_printed_what_the_page_shows() -> None:
    shown = consoles("ncu")
    assert len(shown) >= 3
    for words, output in shown:
        program = next(index for index, word in enumerate(words) if word.startswith("./"))
        name = "-".join(["ncu", *words[program:]]).replace("./", "")
        in_order(output, (COUNTED / f"{name}.txt").read_text(encoding="utf-8"))


def test_the_gain_is_that_of_the_results() -> None:
    case = json.loads(RESULTS.read_text())["cases"][CASE]
    before, after = (case["time"][variant] for variant in ("before", "after"))
    assert f"**{mean(before) / mean(after):.2f} times faster**" in PAGE
    assert f"| cycles, mean | {mean(before):,.0f} | {mean(after):,.0f} |" in PAGE
    counted = [case["count"][variant][WAVEFRONTS] for variant in ("before", "after")]
    assert "| wavefronts | {:,.0f} | {:,.0f} |".format(*counted) in PAGE


def test_the_source_is_that_of_the_programs() -> None:
    for block in blocks("cuda"):
        in_order(block, (SOURCES / "before.cu").read_text())
    (fix,) = blocks("diff")
    before, after = ((SOURCES / f"{variant}.cu").read_text() for variant in ("before", "after"))
    in_order("\n".join(line[1:] for line in fix.splitlines() if line[0] in " -"), before)
    in_order("\n".join(line[1:] for line in fix.splitlines() if line[0] in " +"), after)
