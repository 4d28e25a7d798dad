"""``cuvein report`` and ``open`` show what there is, and their status says that something is missing."""

from __future__ import annotations

import json
import struct
import webbrowser

import pytest

from cuvein.profile import write_process
from reference.sample import SUMMARY
from unit.profiles.command import command_line
from unit.profiles.runs import kernel, write


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line as users do and return status, standard output and standard error."""
    monkeypatch.setattr(webbrowser, "open", lambda _: True)
    return command_line(monkeypatch, capsys)


VIEWS = [
    *(["--by", view] for view in ("kernel", "line", "object", "operator", "finding")),
    ["--format", "json"],
]


@pytest.mark.parametrize("words", VIEWS)
def test_launches_left_in_a_journal(words, tmp_path, run):
    folder = write(tmp_path, kernel())
    status, whole, err = run("report", folder, *words)
    assert (status, err) == (0, "")
    process = folder / "process-1"
    process.mkdir()
    write_process(SUMMARY, process / "process.json")
    (process / "journal").write_bytes(struct.pack("<16sII", b"cuvein journal 1", 0, 0))
    status, out, err = run("report", folder, *words)
    assert (status, out) == (121, whole)
    assert "left out" in err


@pytest.mark.parametrize("words", VIEWS)
def test_incomplete_profiles(words, tmp_path, run):
    cut = kernel("cut(float *)")
    cut.incomplete = "The trace breaks off."
    folder = write(tmp_path, kernel(), cut, cut)
    status, out, err = run("report", folder, *words)
    assert status == 121
    assert out
    assert err == (
        "cuvein: warning: incomplete: launch 2: The trace breaks off.\ncuvein: warning: incomplete: 1 more\n"
    )
    # Nothing of what is shown is incomplete.
    assert run("report", folder, *words, "--launch", "1")[::2] == (0, "")


def test_pages(tmp_path, run):
    cut = kernel()
    cut.incomplete = "The trace breaks off."
    folder = write(tmp_path / "run", cut)
    page = tmp_path / "page.json"
    assert run("report", folder, "--html", page)[0] == 121
    assert json.loads(page.read_text())["format"] == "cuvein view"
    assert run("open", folder, "--output", tmp_path / "page.html")[0] == 121
    assert (tmp_path / "page.html").exists()
    assert run("open", write(tmp_path / "whole", kernel()))[0] == 0
