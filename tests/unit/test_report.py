"""Reports on hand-made profiles: every number printed can be worked out from the profile below."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from cuvein.profile.model import (
    Coverage,
    Device,
    Edge,
    Function,
    Kernel,
    LabelName,
    Launch,
    LaunchProfile,
    Node,
    NotAnalysed,
    Process,
    SpaceName,
    TypeName,
    Versions,
)
from cuvein.profile.writing import write
from cuvein.report import numbers
from cuvein.report.document import DocumentReport
from cuvein.report.summary import summarise
from cuvein.report.terminal import TerminalReport
from cuvein.source import Locator

if TYPE_CHECKING:
    from pathlib import Path

SOFTMAX = "softmax_rows(float const*, float*, int)"
MANGLED = "_Z12softmax_rowsPKfPfi"


def node(  # noqa: PLR0917 (a table of them reads best without names)
    number: int,
    pc: int,
    space: SpaceName,
    kind: TypeName,
    size: int,
    executions: int,
    used: int,
    ideal: int,
    *,
    function: int = 0,
    asynchronous: bool = False,
) -> Node:
    """A node whose executions all have 32 active lanes and use equally many sectors or wavefronts."""
    shared = space in ("shared", "distributed_shared")
    once = [(used, executions)]
    return Node(
        id=number,
        function=function,
        pc=pc,
        space=space,
        type=kind,
        size=size,
        asynchronous=asynchronous,
        executions=executions,
        bytes=executions * 32 * size,
        lanes=[(32, executions)],
        addresses=[] if shared else [(32, executions)],
        sectors=[] if shared else once,
        words=[(size * 8, executions)] if shared else [],
        wavefronts=once if shared else [],
        ideal_wavefronts=[(ideal, executions)] if shared else [],
        allocations=[],
    )


def edge(number: int, origin: int | None, label: LabelName, size: int) -> Edge:
    return Edge(number, origin, label, size, size // 4)


def profile(
    sequence: int = 1,
    *,
    name: str = SOFTMAX,
    mangled: str = MANGLED,
    incomplete: str | None = None,
    not_analysed: tuple[NotAnalysed, ...] = (),
) -> LaunchProfile:
    """Softmax over 1024 rows of 256 floats: 8192 warps load, exchange through shared memory, store.

    Global: 1 MiB read cold at 0x100, read again at 0x200 from the same thread, 1 MiB written at 0x300 with a
    stride. Shared: 1 MiB written at 0x180, read with a 2-way conflict at 0x1a0 from other warps.
    """
    mib = 1 << 20
    nodes = [
        node(0, 0x100, "global", "read", 4, 8192, 4, 4),
        node(1, 0x180, "shared", "write", 4, 8192, 1, 1),
        node(2, 0x1A0, "shared", "read", 4, 8192, 2, 1),
        node(3, 0x200, "global", "read", 4, 8192, 4, 4),
        node(4, 0x40, "global", "write", 4, 8192, 32, 4, function=1),
    ]
    edges = [
        edge(0, None, "cold", mib),
        edge(1, None, "cold", mib),
        edge(2, 1, "block", mib * 3 // 4),
        edge(2, 1, "warp_diff_inst", mib // 4),
        edge(3, 0, "thread", mib),
        edge(4, None, "cold", mib // 2),
        edge(4, 3, "grid", mib // 2),
    ]
    return LaunchProfile(
        format="cuvein launch profile",
        version=1,
        id=f"a-{sequence}",
        engine="host",
        incomplete=incomplete,
        process=Process("p", 4711, "/opt/softmax", ["./softmax", "1024", "two words"], Versions("0.1.0")),
        launch=Launch(
            sequence=sequence,
            kernel=Kernel(name, mangled, "ab" * 32),
            grid=(1024, 1, 1),
            block=(256, 1, 1),
            cluster=None,
            shared_bytes=(0, 1024),
            device=Device(0, "NVIDIA H200", (9, 0), 132),
            context=1,
            stream=7,
            functions=[
                Function(name, mangled, 0, 0x400),
                Function("store(float*, float)", "_Z5storePff", 0x800, 0x80),
            ],
            allocations=[],
        ),
        coverage=Coverage({"global": 24576, "shared": 16384}, list(not_analysed), 0, 0),
        nodes=nodes,
        edges=edges,
    )


# --- adding up ----------------------------------------------------------------------------------------------

MIB = 1 << 20


def test_the_list_of_kernels_has_short_names_and_the_sections_whole_ones() -> None:
    long = (
        "void (anonymous namespace)::apply<float, lib::Policy<128, lib::Fill<float, double, 4> >, 1ul>(int)"
    )
    text = TerminalReport(120).render([profile(1), profile(2, name=long, mangled="_Z5applyv")])
    listed, whole = text.split("[1]", 1)
    assert re.search(r"^\d apply<float, lib::Policy<128, lib::Fill<…> >, 1ul>  ", listed, re.MULTILINE)
    assert "void" not in listed
    assert long in " ".join(whole.split())


def test_launches_of_one_kernel_are_added_up() -> None:
    summary = summarise([profile(1), profile(2), profile(7, name="other()", mangled="_Z5otherv")])
    assert [(kernel.name, len(kernel.launches)) for kernel in summary.kernels] == [
        (SOFTMAX, 2),
        ("other()", 1),
    ]
    softmax = summary.kernels[0]
    assert softmax.bytes == 10 * MIB
    assert softmax.by_label("global") == {"cold": 3 * MIB, "thread": 2 * MIB, "grid": MIB}
    assert softmax.analysed == {"global": 2 * 24576, "shared": 2 * 16384}


def test_kernels_of_one_name_in_two_modules_stay_apart() -> None:
    first = profile(1)
    kernel = msgspec.structs.replace(first.launch.kernel, module="cd" * 32)
    second = msgspec.structs.replace(first, launch=msgspec.structs.replace(first.launch, kernel=kernel))
    assert len(summarise([first, second]).kernels) == 2


def test_ratios_are_used_over_ideal_of_all_executions() -> None:
    kernel = summarise([profile(1), profile(2)]).kernels[0]
    ratios = {access.key.pc: (access.unit, access.ratio) for access in kernel.heaviest()}
    assert ratios == {
        0x100: ("sectors", 1.0),
        0x180: ("wavefronts", 1.0),
        0x1A0: ("wavefronts", 2.0),
        0x200: ("sectors", 1.0),
        0x40: ("sectors", 8.0),
    }


def test_origin_is_that_of_the_main_label() -> None:
    kernel = summarise([profile()]).kernels[0]
    accesses = {access.key.pc: access for access in kernel.heaviest()}
    assert accesses[0x1A0].main_label == "block"
    assert accesses[0x1A0].main_origin("block") == (accesses[0x180].key, MIB * 3 // 4)
    assert accesses[0x40].main_reuse == "grid"
    assert accesses[0x100].main_reuse is None


# --- the terminal -------------------------------------------------------------------------------------------


def rows(text: str) -> list[list[str]]:
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]


def test_traffic_by_scope_has_bytes_and_shares() -> None:
    text = TerminalReport(120).render([profile()])
    flat = [" ".join(line.split()) for line in text.splitlines()]
    assert any(line.startswith("global 3.00 MiB footprint 1.50 MiB, each byte 2\u00d7") for line in flat)
    assert any(line.startswith("thread 1.00 MiB 33.3 %") for line in flat)
    assert any(line.startswith("warp_diff_inst 256 KiB 12.5 %") for line in flat)


def test_bars_are_proportional_and_fill_the_line() -> None:
    width = 100
    text = TerminalReport(width).render([profile()])
    bars = {
        words[0]: line.count("█") for line in text.splitlines() if "█" in line and (words := line.split())
    }
    assert abs(bars["grid"] * 2 - bars["thread"]) <= 2
    assert max(len(line) for line in text.splitlines()) <= width


def test_program_counters_are_listed_with_access_and_origin() -> None:
    text = TerminalReport(140).render([profile()])
    assert ["0x01a0", "read shared 4", "8,192", "1.00 MiB", "2/1 wavefronts", "2.00\u00d7"] in [
        r[:6] for r in rows(text)
    ]
    assert ["block 75.0 %, warp_diff_inst 25.0 %", "0x0180"] in [r[6:] for r in rows(text)]
    assert ["0x0040 store", "write global 4", "8,192", "1.00 MiB", "32/4 sectors", "8.00\u00d7"] in [
        r[:6] for r in rows(text)
    ]


def test_top_limits_the_list_and_says_so() -> None:
    assert "(2 of 5; --top 0 lists all)" in TerminalReport(100, top=2).render([profile()])
    assert " of 5" not in TerminalReport(100, top=0).render([profile()])


@pytest.mark.parametrize("width", [1, 60, 80, 100, 140, 250])
@pytest.mark.parametrize("colour", [False, True])
def test_no_line_is_wider_than_asked(width: int, colour: bool) -> None:
    long = "void at::native::" + "f<float, 4ul>::" * 30 + "kernel(int)"
    profiles = [profile(1), profile(2, name=long, mangled="_Zlong"), profile(3, incomplete="word " * 60)]
    text = TerminalReport(width, colour=colour).render(profiles)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert max(len(line) for line in plain.splitlines()) <= max(width, 60)


@pytest.mark.parametrize("width", range(60, 84, 4))
def test_a_narrow_terminal_cuts_no_number(width: int) -> None:
    text = TerminalReport(width).render([profile()])
    table = text[text.index("Program counters") : text.index("Coverage")]
    assert "\u2026" not in table
    assert "ratio" in table
    assert "mostly" in table


def test_colours_change_nothing_but_the_colours() -> None:
    profiles = [profile()]
    coloured = TerminalReport(80, colour=True).render(profiles)
    assert "\x1b[" in coloured
    plain = "\n".join(line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines()) + "\n"
    assert plain == TerminalReport(80, colour=False).render(profiles)


def test_ascii_only_where_the_output_knows_no_more() -> None:
    TerminalReport(100, unicode=False).render([profile()]).encode("ascii")


def test_incomplete_launches_are_marked() -> None:
    text = TerminalReport(100).render([profile(1), profile(2, incomplete="17 records were lost.")])
    assert "INCOMPLETE launch 2: 17 records were lost." in text


def test_coverage_lists_what_is_not_analysed() -> None:
    text = TerminalReport(100).render([profile(not_analysed=(NotAnalysed("TMA_LOAD", 1024),))])
    assert "analysed: 40,960 warp-level accesses (global 24,576, shared 16,384)" in text
    assert "not analysed: tma load, executed 1,024 times" in text


def test_markup_and_control_characters_in_names_are_text() -> None:
    text = TerminalReport(100).render([profile(name="f<[bold]>(\x1b[31mx\r)")])
    assert "f<[bold]>" in text
    assert "\x1b" not in text


def test_kernel_without_memory_accesses_is_said_to_have_none() -> None:
    empty = msgspec.structs.replace(profile(), nodes=[], edges=[], coverage=Coverage({}, [], 0, 0))
    assert "No memory access was recorded." in TerminalReport(100).render([empty])


# --- numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (10 * 1024 - 1, "10.0 KiB"),
        (1024**2 - 1, "1.00 MiB"),
        (1536 * 1024**2, "1.50 GiB"),
        (5000 * 1024**5, "5,000 PiB"),
    ],
)
def test_amounts(number: int, text: str) -> None:
    assert numbers.amount(number) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 0, "0 %"), (1, 3, "33.3 %"), (3, 3, "100 %"), (1, 10**6, "<0.1 %"), (10**6 - 1, 10**6, ">99.9 %")],
)
def test_shares_never_round_to_nothing_or_all(part: int, whole: int, text: str) -> None:
    assert numbers.percent(part, whole) == text


# --- JSON ---------------------------------------------------------------------------------------------------


def test_document_holds_every_edge() -> None:
    document = json.loads(DocumentReport().render([profile(1), profile(2)]))
    (kernel,) = document["kernels"]
    assert document["format"] == "cuvein report"
    assert (
        sum(r["bytes"] for access in kernel["accesses"] for r in access["reuse"])
        == kernel["bytes"]
        == 10 * MIB
    )
    assert kernel["traffic"]["shared"] == {"cold": 2 * MIB, "warp_diff_inst": MIB // 2, "block": MIB * 3 // 2}


# --- the command --------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(profile(1), tmp_path / "launch-000001.json")
    write(profile(2, name="other(int)", mangled="_Z5otheri"), tmp_path / "launch-000002.json")
    return tmp_path


def cuvein(*words: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "100", **variables}
    return subprocess.run(
        [sys.executable, "-m", "cuvein", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=60,
    )


def test_piped_report_is_plain(folder: Path) -> None:
    done = cuvein("report", str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == TerminalReport(100, locator=Locator.beside(folder)).render(
        [profile(1), profile(2, name="other(int)", mangled="_Z5otheri")]
    )


def test_report_of_one_kernel_or_launch(folder: Path) -> None:
    assert SOFTMAX not in cuvein("report", str(folder), "--kernel", "^other").stdout
    assert SOFTMAX not in cuvein("report", str(folder), "--launch", "2").stdout
    assert SOFTMAX in cuvein("report", str(folder), "--kernel", "Z12softmax").stdout


def test_report_of_nothing_names_the_launches(folder: Path) -> None:
    done = cuvein("report", str(folder), "--kernel", "nothing")
    assert (done.returncode, done.stdout) == (120, "")
    assert "2: other(int)" in done.stderr


@pytest.mark.parametrize(
    "command", [["report"], ["report", "--html", "page.html"], ["check"], ["diff", "."], ["open"]]
)
def test_folder_without_profiles_is_120(tmp_path: Path, command: list[str]) -> None:
    done = cuvein(*command, ".", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (120, "")
    assert "nothing was profiled" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_path_given_twice_counts_once(folder: Path) -> None:
    (folder.parent / "link").symlink_to(folder)
    paths = [folder, folder / "launch-000001.json", f"../{folder.name}", "../link"]
    done = cuvein("report", "--format", "json", *map(str, paths), cwd=folder)
    assert [len(kernel["launches"]) for kernel in json.loads(done.stdout)["kernels"]] == [1, 1]


@pytest.mark.parametrize(
    "content", [None, b"", b"{}", b'{"format": "cuvein launch profile", "version": 99}', b"\xff"]
)
def test_unreadable_profile_is_123_and_one_sentence(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "launch-000001.json"
    if content is not None:
        path.write_bytes(content)
    done = cuvein("report", str(path))
    assert (done.returncode, done.stdout) == (123, "")
    assert done.stderr.startswith("cuvein: error: ")
    assert len(done.stderr.splitlines()) == 1


def test_bad_expression_is_2(folder: Path) -> None:
    assert cuvein("report", str(folder), "--kernel", "(").returncode == 2


def test_reader_that_stops_early_is_no_error(folder: Path) -> None:
    report = [sys.executable, "-m", "cuvein", "report", "--format", "json", str(folder), str(folder)]
    command = f"{shlex.join(report)} | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
