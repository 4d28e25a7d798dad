"""The report by source line, on a recorded module and numbers that can be worked out by hand."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from cuvein.cli.views import View, view
from cuvein.findings.locating import LinesBeside
from cuvein.profile import read_all, write
from cuvein.report.by_finding import FindingReport
from cuvein.report.by_line import LineDocument, LineReport, by_line
from cuvein.report.listing import Listing
from cuvein.report.summary import summarise
from cuvein.report.terminal import TerminalReport
from cuvein.source import Locator, record_run
from golden.modules.launch import profile_of
from golden.modules.recorded import FOLDER, module
from reference.sample import PROFILE

if TYPE_CHECKING:
    from pathlib import Path

    from cuvein.profile.model import LaunchProfile

pytestmark = pytest.mark.usefixtures("own_cache")


def locator_of(folder: Path, name: str, *, sources: bool = True, sass: bool = False) -> Locator:
    modules = folder / "process-1" / "modules"
    modules.mkdir(parents=True)
    (modules / f"{hashlib.sha256(module(name)).hexdigest()}.cubin").write_bytes(module(name))
    return Locator.beside(folder, sass=sass, roots=[FOLDER / "sources"] if sources else [])


def test_accesses_of_one_line_are_added_up_over_launches(tmp_path: Path) -> None:
    profile = profile_of("linked")
    first, second = by_line(summarise([profile, profile]), locator_of(tmp_path, "linked"))
    assert (first.place, first.bytes, len(first.instructions)) == ("kernel_part.cu:7", 2048, 2)
    (tally,) = first.kinds.values()
    assert tally.labels == {"cold": 1024, "block": 1024}
    assert (tally.executions, tally.ratio) == (16, 1.0)
    assert (second.place, second.bytes) == ("scaling.cuh:13", 1024)


def test_the_text_names_line_source_callers_and_numbers(tmp_path: Path) -> None:
    text = LineReport(locator_of(tmp_path, "linked"), Listing(100)).render([profile_of("linked")])
    kernel, library = re.split(r"\n(?=scaling)", text)
    assert "kernel_part.cu:7  66.7 % of all bytes" in kernel
    assert "out[threadIdx.x] = library(x, threadIdx.x) + scale(x[3], x[4]);" in kernel
    numbers = kernel.replace("\N{MULTIPLICATION SIGN}", "x")
    assert re.search(
        r"read global 4 +8x +1\.00 KiB +1\.00x +(cold|block) 50\.0 %, (cold|block) 50\.0 %", numbers
    )
    assert "inlined at library_part.cu:3" in library
    assert "grid 100 %" in library


def test_the_report_by_kernel_shows_the_line_where_it_fits(tmp_path: Path) -> None:
    locator = locator_of(tmp_path, "linked")
    wide = TerminalReport(100, locator=locator).render([profile_of("linked")])
    assert re.search(r"0x00c0 +kernel_part\.cu:7 +read global 4", wide)
    narrow = TerminalReport(60, locator=locator).render([profile_of("linked")])
    assert "kernel_part.cu" not in narrow
    assert "No source lines" not in wide + narrow


def test_the_report_by_kernel_says_what_to_do_about_missing_lines(tmp_path: Path) -> None:
    text = TerminalReport(200, locator=locator_of(tmp_path, "no_lines")).render([profile_of("no_lines")])
    assert "No source lines: the module has no line information; compile with -lineinfo" in text


def test_modules_are_found_below_any_folder_that_profiles_are_found_in(tmp_path: Path) -> None:
    locator_of(tmp_path / "run" / "profiles", "linked")
    groups = by_line(summarise([profile_of("linked")]), Locator.beside(tmp_path))
    assert [group.why for group in groups] == [None, None]


def test_what_has_no_line_is_listed_by_function_with_the_reason(tmp_path: Path) -> None:
    text = LineReport(locator_of(tmp_path, "partial"), Listing()).render([profile_of("partial")])
    assert "library (line not known)" in text
    assert "Note: library has no line here; compile it with -lineinfo too." in text
    assert "Note: linked: 2 of 3 memory instructions have a line." in text
    assert "kernel_part.cu:7" in text


def test_without_modules_every_byte_is_still_there(tmp_path: Path) -> None:
    groups = by_line(summarise([profile_of("linked")]), Locator.beside(tmp_path))
    assert sorted(group.bytes for group in groups) == [512, 1024]
    assert all(group.why is not None for group in groups)


def test_a_missing_source_file_is_said_in_place_of_the_text(tmp_path: Path) -> None:
    locator = locator_of(tmp_path, "linked", sources=False)
    line, _ = json.loads(LineDocument(locator).render([profile_of("linked")]))["lines"]
    assert line["text"] is None
    assert line["text_missing"].startswith("the source file /kernels/kernel_part.cu is not here")
    text = LineReport(locator, Listing()).render([profile_of("linked")])
    assert text.count("the source file /kernels/kernel_part.cu is not here; name its folder with") == 1


def test_only_the_first_lines_are_listed_and_the_rest_counted(tmp_path: Path) -> None:
    text = LineReport(locator_of(tmp_path, "linked"), Listing(top=1)).render([profile_of("linked")])
    assert "(1 of 2; --top 0 lists all)" in text
    assert "scaling.cuh" not in text


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_no_line_is_longer_than_asked_for_and_ascii_stays_ascii(width: int, tmp_path: Path) -> None:
    report = LineReport(locator_of(tmp_path, "linked"), Listing(width, unicode=False))
    text = report.render([profile_of("linked")])
    assert max(map(len, text.splitlines())) <= width
    assert text.isascii()


def test_the_document_has_every_instruction(tmp_path: Path) -> None:
    document = json.loads(
        LineDocument(locator_of(tmp_path, "linked", sass=True)).render([profile_of("linked")])
    )
    assert (document["format"], document["version"]) == ("cuvein report by line", 1)
    kernel, library = document["lines"]
    assert [instruction["pc"] for instruction in kernel["instructions"]] == [0xC0, 0xD0]
    assert all(instruction["sass"].startswith("LDG.E") for instruction in kernel["instructions"])
    assert [frame["line"] for frame in library["frames"]] == [13, 3]
    assert library["text"] == "    sum += from[i * N + k];"
    assert library["text_missing"] is None
    assert library["accesses"][0]["labels"] == {"grid": 512}


def run_folder(folder: Path) -> Path:
    """Lay out a run as ``cuvein run`` does, with its sources beside it, not at their recorded path."""
    locator_of(folder, "linked")
    write(profile_of("linked"), folder / "process-1" / "launch-000001.json")
    (folder / "process-2").mkdir()
    shutil.copytree(FOLDER / "sources", folder / "sources")
    return folder


def test_a_run_keeps_its_sources_and_shows_them_when_they_are_gone(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    assert record_run(folder, "embed", [folder / "sources"]) == []
    shutil.rmtree(folder / "sources")
    text = view(View.LINE, Listing(top=0), [folder]).render(read_all(folder))
    assert "sum += from[i * N + k];" in text
    assert not (folder / "process-2" / "sources.json").exists()


def test_a_source_file_that_changed_is_noted_on_request(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    roots = [folder / "sources"]
    record_run(folder, "path", roots)
    changed = folder / "sources" / "scaling.cuh"
    changed.write_text(changed.read_text() + "// more\n")
    note = f"Note: {changed} has changed since it was recorded."
    for check in (True, False):
        text = view(View.LINE, Listing(200, top=0), [folder], roots=roots, check=check).render(
            read_all(folder)
        )
        assert (note in text) == check


def test_nothing_is_kept_unless_asked_for(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    assert record_run(folder, "none", [folder / "sources"]) == []
    assert not list(folder.rglob("sources.json"))


def test_sources_that_are_not_found_or_profiles_that_are_damaged_are_told(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    (folder / "process-1" / "launch-000002.json").write_text("{")
    problems = record_run(folder, "embed")
    assert any("launch-000002.json" in problem for problem in problems)
    assert any("/kernels/scaling.cuh is not here" in problem for problem in problems)


@pytest.mark.parametrize(
    ("name", "level"), [("linked", "full"), ("partial", "partial"), ("no_lines", "none")]
)
def test_of_each_kernel_it_is_said_how_much_of_it_has_lines(name: str, level: str, tmp_path: Path) -> None:
    document = json.loads(LineDocument(locator_of(tmp_path, name)).render([profile_of(name)]))
    (kernel,) = document["kernels"]
    assert kernel["lines_known"] == level
    assert (kernel["remedy"] is None) == (level == "full")
    assert level == "full" or "-lineinfo" in kernel["remedy"]


@pytest.mark.parametrize("by", [View.LINE, View.OBJECT])
def test_each_view_comes_as_text_and_as_json(by: View, tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    assert "by bytes accessed" in view(by, Listing(top=0), [folder]).render(read_all(folder))
    document = json.loads(view(by, None, [folder]).render(read_all(folder)))
    assert document["format"] == f"cuvein report by {by.value}"


def run_with(name: str, folder: Path, *, kept: bool = True) -> tuple[Path, LaunchProfile]:
    """Lay out a run of one launch with its module, or without it."""
    profile = profile_of(name)
    process = folder / "process-1"
    (process / "modules").mkdir(parents=True)
    write(profile, process / "launch-000001.json")
    if kept:
        shutil.copy(FOLDER / f"{name}.cubin", process / "modules" / f"{profile.launch.kernel.module}.cubin")
    return folder, profile


@pytest.mark.parametrize(
    ("name", "kept", "note"),
    [
        ("linked", True, None),
        ("partial", True, "1 of 3 memory instructions have none: library has no line here; compile it with"),
        ("no_lines", True, "no source lines for linked: the module has no line information; compile with"),
        ("linked", False, "is not beside the profile; keep the modules folder"),
    ],
)
def test_findings_say_why_lines_are_missing(name: str, kept: bool, note: str | None, tmp_path: Path) -> None:
    folder, profile = run_with(name, tmp_path, kept=kept)
    text = " ".join(FindingReport(LinesBeside([folder / "process-1"])).render([profile]).split())
    if note is None:
        assert "Note:" not in text
    else:
        assert text.count("Note:") == 1
        assert note in text


def test_of_many_reasons_findings_tell_the_first_few(tmp_path: Path) -> None:
    many = [
        replace(
            PROFILE,
            launch=replace(PROFILE.launch, kernel=replace(PROFILE.launch.kernel, module=str(number) * 64)),
        )
        for number in range(5)
    ]
    text = FindingReport(LinesBeside([tmp_path])).render(many)
    assert text.count("Note:") == 4
    assert "2 more reasons" in text
