"""What lines and instructions need is damaged or absent: every report comes, and says what is missing."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from cuvein.cli import main
from cuvein.profile import write
from cuvein.source import nvdisasm
from golden.modules.launch import profile_of
from golden.modules.recorded import module

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("own_cache")

NOT_HERE = "is not beside the profile; keep the modules folder with the profiles"
NO_LINES = "the module has no line information; compile with -lineinfo"
# By fault: the module that is recorded, what becomes of its bytes, and what is said.
FAULTS: dict[str, tuple[str, Callable[[bytes], bytes | None], str]] = {
    "no module": ("linked", lambda _: None, NOT_HERE),
    "no line table": ("no_lines", lambda data: data, NO_LINES),
    "a function without lines": ("partial", lambda data: data, "library has no line here; compile it with"),
    "cut off": ("linked", lambda data: data[: len(data) // 2], "the module is damaged"),
    "scrambled": ("linked", lambda data: data[:64] + data[:63:-1], "the module is damaged"),
    "no ELF": ("linked", lambda data: bytes(len(data)), "the module is not an ELF file; record it again"),
}
COMMANDS: dict[str, list[str]] = {
    "line": ["report", "--by", "line"],
    "line JSON": ["report", "--by", "line", "--format", "json"],
    "kernel": ["report"],
    "finding": ["report", "--by", "finding"],
    "finding JSON": ["report", "--by", "finding", "--format", "json"],
    "check": ["check"],
    "check JSON": ["check", "--format", "json"],
    "SARIF": ["check", "--format", "sarif"],
    "JUnit": ["check", "--format", "junit", "--fail-on", "info"],
}
# They tell of no lines, and come as ever.
OTHERS = [
    ["report", "--by", by, *more] for by in ("object", "operator") for more in ([], ["--format", "json"])
]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*words: str | Path, status: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["cuvein", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "100")
        with pytest.raises(SystemExit) as ended:
            main()
        out, error = capsys.readouterr()
        assert (ended.value.code or 0, "Traceback" in out + error) == (status, False), error
        return out if status in (0, 1) else error

    return run


def recorded(folder: Path, name: str, change: Callable[[bytes], bytes | None] = lambda data: data) -> Path:
    """Lay out a run whose module was changed before its hash was taken."""
    process = folder / "process-1"
    (process / "modules").mkdir(parents=True)
    profile = profile_of(name)
    data = change(module(name))
    if data is not None:
        sha256 = hashlib.sha256(data).hexdigest()
        kernel = replace(profile.launch.kernel, module=sha256)
        profile = replace(profile, launch=replace(profile.launch, kernel=kernel))
        (process / "modules" / f"{sha256}.cubin").write_bytes(data)
    write(profile, process / "launch-000001.json")
    return folder


def said(text: str) -> str:
    """Undo line breaks and what JSON and XML do to characters."""
    return " ".join(text.split()).replace("&apos;", "'")


def places(document: Any) -> list[dict[str, Any]]:
    """Give everything in a document that may have a source line."""
    if isinstance(document, list):
        return [place for each in document for place in places(each)]
    if not isinstance(document, dict):
        return []
    own = [document] if "source_missing" in document else []
    return own + [place for each in document.values() for place in places(each)]


@pytest.mark.parametrize("fault", FAULTS)
def test_every_report_comes_and_says_what_is_missing(
    fault: str, tmp_path: Path, run: Callable[..., str]
) -> None:
    name, change, why = FAULTS[fault]
    folder = recorded(tmp_path / "run", name, change)
    for command, words in COMMANDS.items():
        # Where some lines are known, the report by kernel shows those.
        if (fault, command) != ("a function without lines", "kernel"):
            text = run(*words, folder, status=int(command == "JUnit"))
            assert why in said(text), command
    for words in OTHERS:
        assert run(*words, folder)
    for page in ("page.json", "page.html"):
        run("report", "--html", tmp_path / page, folder)
    # The page counts those without a line.
    page_says = "2 of 3" if fault == "a function without lines" else why
    assert page_says in (tmp_path / "page.json").read_text()


@pytest.mark.parametrize("fault", FAULTS)
def test_no_line_is_guessed(fault: str, tmp_path: Path, run: Callable[..., str]) -> None:
    name, change, why = FAULTS[fault]
    folder = recorded(tmp_path / "run", name, change)
    kept = {"kernel_part.cu"} if fault == "a function without lines" else set()
    for words in (["report", "--by", "finding"], ["check"]):
        document = json.loads(run(*words, "--format", "json", folder))
        found = places(document)
        assert found
        assert {place["source"]["file"].rsplit("/", 1)[-1] for place in found if place["source"]} <= kept
        assert all(why in place["source_missing"] for place in found if place["source"] is None)
        assert [why in each for each in document["lines_missing"]] == [True]
    lines = json.loads(run("report", "--by", "line", "--format", "json", folder))["lines"]
    files = {frame["file"].rsplit("/", 1)[-1] for line in lines for frame in line["frames"]}
    assert files <= kept


@pytest.mark.parametrize("fault", FAULTS)
def test_comparisons_say_on_which_side(fault: str, tmp_path: Path, run: Callable[..., str]) -> None:
    name, change, why = FAULTS[fault]
    whole, folder = recorded(tmp_path / "whole", "linked"), recorded(tmp_path / "run", name, change)
    assert "Note:" not in run("diff", whole, whole)
    assert "Note: after, no source lines for linked: " in said(run("diff", whole, folder))
    assert "Note: before, no source lines for linked: " in said(run("diff", folder, whole))
    both = said(run("diff", folder, folder))
    assert both.count("Note: no source lines for linked: ") == 1
    assert why in both
    document = json.loads(run("diff", "--format", "json", whole, folder))
    assert document["lines_missing"]["before"] == []
    assert [why in each for each in document["lines_missing"]["after"]] == [True]
    assert all(
        (place["source"] is None) == (place["source_missing"] is not None) for place in places(document)
    )


def test_without_nvdisasm_reports_say_how_to_get_it(
    tmp_path: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvdisasm, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    folder = recorded(tmp_path / "run", "linked")
    why = "nvdisasm is not installed; install it with: pip install nvidia-cuda-nvdisasm"
    document = json.loads(run("report", "--by", "line", "--format", "json", folder))
    instructions = [each for line in document["lines"] for each in line["instructions"]]
    assert {(each["sass"], each["sass_missing"]) for each in instructions} == {(None, why)}
    run("report", "--html", tmp_path / "page.json", folder)
    assert why in (tmp_path / "page.json").read_text()
    for words in (*COMMANDS.values(), *OTHERS):
        assert run(*words, folder, status=int("junit" in words))


def test_absent_sources_are_named_with_the_remedy(tmp_path: Path, run: Callable[..., str]) -> None:
    folder = recorded(tmp_path / "run", "linked")
    why = "kernel_part.cu is not here; name its folder with --source-root"
    assert why in said(run("report", "--by", "line", folder))
    assert why in run("report", "--by", "line", "--format", "json", folder)
    run("report", "--html", tmp_path / "page.json", folder)
    assert why in (tmp_path / "page.json").read_text()
    for words in (*COMMANDS.values(), *OTHERS):
        assert run(*words, folder, status=int("junit" in words))


@pytest.mark.parametrize("by", ["kernel", "object", "operator", "finding"])
def test_a_source_root_is_not_ignored(by: str, tmp_path: Path, run: Callable[..., str]) -> None:
    folder = recorded(tmp_path / "run", "linked")
    error = run("report", "--by", by, "--source-root", tmp_path, folder, status=2)
    assert "--source-root is of no use with --by" in error
    run("report", "--source-root", tmp_path, "--html", tmp_path / "page.html", folder)


def test_a_source_root_that_is_no_folder_is_refused(tmp_path: Path, run: Callable[..., str]) -> None:
    folder = recorded(tmp_path / "run", "linked")
    error = run("report", "--by", "line", "--source-root", tmp_path / "absent", folder, status=2)
    assert "does not exist" in error
