"""``cuvein report --html`` and ``cuvein open``: what they write and what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zlib
from base64 import b64decode
from typing import TYPE_CHECKING

import msgspec
import pytest

from cuvein.collect.errors import Status
from cuvein.profile import write
from cuvein.report.view_model import View
from reference.sample import PROFILE

if TYPE_CHECKING:
    from pathlib import Path


def cuvein(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cuvein", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}, timeout=120
    )


def index_of(page: str) -> dict[str, object]:
    found = re.search(r'id="cuvein-index">([^<]*)<', page)
    assert found
    index: dict[str, object] = json.loads(zlib.decompress(b64decode(found[1])))
    return index


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    for number in (1, 2):
        launch = msgspec.structs.replace(PROFILE.launch, sequence=number)
        write(
            msgspec.structs.replace(PROFILE, id=f"id/{number}", launch=launch),
            folder / f"launch-{number:06}.json",
        )
    return folder


@pytest.mark.parametrize("words", [("--by", "line"), ("--by", "finding"), ("--format", "json")])
def test_a_page_takes_no_grouping_or_format(words: tuple[str, str], run: Path, tmp_path: Path) -> None:
    done = cuvein("report", run, "--html", tmp_path / "page.html", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{' '.join(words)} is of no use with --html" in " ".join(done.stderr.replace("│", "").split())
    assert not (tmp_path / "page.html").exists()


def test_page_holds_the_launches_that_were_chosen(run: Path, tmp_path: Path) -> None:
    done = cuvein("report", run, "--html", tmp_path / "all.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(index_of((tmp_path / "all.html").read_text())["launches"]) == 2  # type: ignore[arg-type]
    assert cuvein("report", run, "--launch", 2, "--html", tmp_path / "one.html").returncode == 0
    (launch,) = index_of((tmp_path / "one.html").read_text())["launches"]  # type: ignore[misc,attr-defined]
    assert launch["sequence"] == 2


def test_view_can_be_read_back(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.cuvein.json"
    assert cuvein("report", run, "--html", file).returncode == 0
    view = msgspec.json.decode(file.read_bytes(), type=View)
    assert [launch.id for launch in view.index.launches] == ["id/1", "id/2"]
    # Equal graphs are kept once.
    assert len({launch.graph for launch in view.index.launches}) == 1


def test_equal_input_makes_equal_pages(run: Path, tmp_path: Path) -> None:
    pages = [tmp_path / "one.html", tmp_path / "two.html"]
    for page in pages:
        assert cuvein("report", run, "--html", page).returncode == 0
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_nothing_is_written_when_no_launch_fits(run: Path, tmp_path: Path) -> None:
    done = cuvein("report", run, "--kernel", "other", "--html", tmp_path / "page.html")
    assert done.returncode == Status.NOTHING_PROFILED
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("place", ["", "missing/page.html"])
def test_places_that_cannot_be_written_are_named(run: Path, tmp_path: Path, place: str) -> None:
    done = cuvein("report", run, "--html", tmp_path / place)
    assert done.returncode == Status.UNWRITABLE_OUTPUT
    assert str(tmp_path / place) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("report", "--html"),
        ("open", "-o"),
        ("check", "-o"),
        ("diff", "-o"),
        ("check", "--write-baseline", "--baseline"),
    ],
)
def test_nothing_is_written_over_a_profile(words: tuple[str, ...], run: Path, tmp_path: Path) -> None:
    profile = run / "launch-000001.json"
    before = profile.read_bytes()
    command, *options = words
    done = cuvein(command, run, *([run] if command == "diff" else []), *options, profile)
    assert done.returncode == Status.UNWRITABLE_OUTPUT
    assert f"{profile} " in done.stderr
    assert "was not replaced" in done.stderr
    assert profile.read_bytes() == before


def test_a_report_takes_the_place_of_an_earlier_one(run: Path, tmp_path: Path) -> None:
    for name in ("view.json", "page.html"):
        for _ in range(2):
            done = cuvein("report", run, "--html", tmp_path / name)
            assert (done.returncode, done.stderr) == (0, "")


def test_damaged_profile_leaves_the_page_as_it_was(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("before")
    (run / "launch-000002.json").write_text("{")
    done = cuvein("report", run, "--html", page)
    assert done.returncode == Status.UNREADABLE_INPUT
    assert page.read_text() == "before"


def test_open_keeps_the_page_in_the_folder_and_says_where(run: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    done = cuvein("open", run, BROWSER=f"{browser} %s")
    assert done.returncode == 0
    assert f"the report is {run / 'report.html'}" in done.stderr
    assert (tmp_path / "opened").read_text().strip() == (run / "report.html").as_uri()
    assert len(index_of((run / "report.html").read_text())["launches"]) == 2  # type: ignore[arg-type]


def test_open_without_a_browser_says_so(run: Path, tmp_path: Path) -> None:
    done = cuvein(
        "open", run / "launch-000001.json", "-o", tmp_path / "page.html", PATH="", BROWSER="", DISPLAY=""
    )
    assert done.returncode == 0
    assert "there is no browser here" in done.stderr
    assert (tmp_path / "page.html").exists()
