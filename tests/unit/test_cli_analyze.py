"""``cuvein analyze`` and ``cuvein trace info`` on traces made here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from cuvein.cli.application import build
from cuvein.profile import read, read_process, violations
from cuvein.trace import Recorder, TraceWriter, make_launch, make_process
from cuvein.vocabulary import AccessType, Space

CUBIN = b"not really a cubin, but kept as one" * 10
LAUNCHES = 3


def record(path: Path, launches: int = LAUNCHES, incomplete: str | None = None) -> None:
    """A trace of launches in which two warps write 128 words of shared memory and read each other's."""
    encode = msgspec.json.encode
    with TraceWriter(path, encode(make_process())) as writer:
        writer.module(CUBIN)
        for sequence in range(1, launches + 1):
            writer.begin(encode(make_launch(sequence, block=(64, 1, 1), shared_bytes=(0, 256))))
            recorder = Recorder(sequence)
            for warp in range(2):
                recorder.affine(
                    0x100, 128 * warp, stride=4, size=4, space=Space.SHARED, type=AccessType.WRITE, warp=warp
                )
            for warp in range(2):
                recorder.affine(0x200, 128 * (1 - warp), stride=4, size=4, space=Space.SHARED, warp=warp)
            recorder.launch_end()
            writer.records(recorder.data)
            writer.end(sequence, incomplete)
            writer.flush()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "run.cvt"
    record(path)
    return path


def cuvein(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cuvein", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        timeout=120,
        env={**os.environ, "COLUMNS": "100"},
    )


def test_profiles_modules_and_process_are_laid_out_as_by_a_run(tmp_path: Path, trace: Path) -> None:
    done = cuvein(tmp_path, "analyze", trace)
    assert (done.returncode, done.stdout) == (0, "")
    assert "3 profiles in cuvein-run-1" in done.stderr
    (process,) = (tmp_path / "cuvein-run-1").iterdir()
    assert sorted(path.name for path in process.iterdir()) == [
        "launch-000001.json",
        "launch-000002.json",
        "launch-000003.json",
        "modules",
        "process.json",
    ]
    profile = read(process / "launch-000002.json")
    assert violations(profile) == []
    assert {(edge.label, edge.bytes) for edge in profile.edges} == {("cold", 256), ("block", 256)}
    summary = read_process(process)
    assert (summary.finished, summary.profiles, summary.trace) == (True, 3, str(trace))
    assert [(kernel.launches, kernel.selected) for kernel in summary.kernels_seen] == [(3, 3)]
    (module,) = (process / "modules").iterdir()
    assert module.read_bytes() == CUBIN


def test_number_of_workers_changes_nothing(tmp_path: Path, trace: Path) -> None:
    documents = []
    for workers in (1, 2, 7):
        output = tmp_path / f"out-{workers}"
        assert cuvein(tmp_path, "analyze", trace, "-o", output, "--workers", str(workers)).returncode == 0
        documents.append([path.read_bytes() for path in sorted(output.rglob("launch-*.json"))])
    assert documents[0] == documents[1] == documents[2]
    assert len(documents[0]) == LAUNCHES


@pytest.mark.parametrize("cut", [1, 10, 200])
def test_cut_trace_gives_what_was_whole_and_121(tmp_path: Path, trace: Path, cut: int) -> None:
    damaged = tmp_path / "damaged.cvt"
    damaged.write_bytes(trace.read_bytes()[:-cut])
    done = cuvein(tmp_path, "analyze", damaged, "-o", "out")
    assert done.returncode == 121
    assert "damaged" in done.stderr
    assert "Traceback" not in done.stderr
    profiles = [read(path) for path in sorted((tmp_path / "out").rglob("launch-*.json"))]
    assert profiles
    assert {(edge.label, edge.bytes) for edge in profiles[0].edges} == {("cold", 256), ("block", 256)}
    assert not read_process(next((tmp_path / "out").iterdir())).finished


def test_trace_cut_before_its_first_launch_gives_123_and_no_folder(tmp_path: Path, trace: Path) -> None:
    damaged = tmp_path / "damaged.cvt"
    damaged.write_bytes(trace.read_bytes()[:40])
    assert cuvein(tmp_path, "analyze", damaged, "-o", "out").returncode == 123
    assert not (tmp_path / "out").exists()


def test_every_flipped_byte_ends_in_a_sentence(tmp_path: Path, trace: Path) -> None:
    whole = trace.read_bytes()
    damaged = tmp_path / "damaged.cvt"
    for place in range(0, len(whole), max(1, len(whole) // 5)):
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        done = cuvein(tmp_path, "analyze", damaged, "-o", f"out-{place}")
        assert done.returncode in (121, 123), place
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("content", [None, b"", b"\x7fELF and more", b"{}" * 100])
@pytest.mark.parametrize("command", [["analyze"], ["trace", "info"]])
def test_what_is_no_trace_is_123(tmp_path: Path, command: list[str], content: bytes | None) -> None:
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    done = cuvein(tmp_path, *command, path)
    assert (done.returncode, done.stdout) == (123, "")
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.glob("cuvein-*"))


def test_folder_in_place_of_a_trace_is_123(tmp_path: Path) -> None:
    done = cuvein(tmp_path, "analyze", tmp_path)
    assert done.returncode == 123
    assert f"profiles in it are read by: cuvein report {tmp_path}\n" in done.stderr


def test_profile_in_place_of_a_trace_and_the_other_way_round_say_which_command_it_takes(
    tmp_path: Path, trace: Path
) -> None:
    done = cuvein(tmp_path, "report", trace)
    assert done.returncode == 123
    assert (
        done.stderr
        == f"cuvein: error: {trace} is a trace; this makes profiles of it: cuvein analyze {trace}\n"
    )
    folder = tmp_path / "a folder"
    assert cuvein(tmp_path, "analyze", trace, "--output", folder).returncode == 0
    (profile,) = folder.rglob("launch-000001.json")
    done = cuvein(tmp_path, "analyze", profile, "--output", "other")
    assert done.returncode == 123
    assert done.stderr.endswith(
        f"is JSON and no trace; launch profiles are read by: cuvein report '{profile}'\n"
    )
    assert not (tmp_path / "other").exists()


def test_launch_that_was_recorded_incomplete_is_121(tmp_path: Path) -> None:
    record(tmp_path / "t", incomplete="17 records were lost.")
    done = cuvein(tmp_path, "analyze", "t", "-o", "out")
    assert done.returncode == 121
    assert "launch 2: 17 records were lost." in done.stderr


def test_trace_without_launches_is_120_and_leaves_nothing(tmp_path: Path) -> None:
    record(tmp_path / "t", launches=0)
    assert cuvein(tmp_path, "analyze", "t", "-o", "out").returncode == 120
    assert not (tmp_path / "out").exists()


def test_folder_in_use_needs_force(tmp_path: Path, trace: Path) -> None:
    assert cuvein(tmp_path, "analyze", trace, "-o", "out").returncode == 0
    assert cuvein(tmp_path, "analyze", trace, "-o", "out").returncode == 124
    assert cuvein(tmp_path, "analyze", trace, "-o", "out", "--force").returncode == 0


def test_unwritable_folder_is_124(tmp_path: Path, trace: Path) -> None:
    assert cuvein(tmp_path, "analyze", trace, "-o", "/proc/nowhere").returncode == 124


def test_report_reads_what_analyze_wrote(tmp_path: Path, trace: Path) -> None:
    cuvein(tmp_path, "analyze", trace, "-o", "out")
    done = cuvein(tmp_path, "report", "out")
    assert done.returncode == 0
    assert "3 launches" in done.stdout


def test_info_counts_records_and_lists_launches(tmp_path: Path, trace: Path) -> None:
    done = cuvein(tmp_path, "trace", "info", "--launches", "2", trace)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"records    {LAUNCHES * 5} in " in done.stdout
    assert "and 1 more" in done.stdout


def test_info_of_a_damaged_trace_shows_what_is_whole_and_ends_with_123(tmp_path: Path, trace: Path) -> None:
    trace.write_bytes(trace.read_bytes()[:-10])
    done = cuvein(tmp_path, "trace", "info", trace)
    assert done.returncode == 123
    assert f"records    {LAUNCHES * 5} in " in done.stdout
    assert "damaged" in done.stderr


COMMANDS = ["run", "report", "open", "check", "diff", "analyze", "doctor", "demo", "trace", "schema"]


def test_every_command_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    commands = typer.main.get_command(build()).commands  # type: ignore[attr-defined]
    assert sorted(commands) == sorted(COMMANDS)
    for name, command in [*commands.items(), ("trace info", commands["trace"].commands["info"])]:
        assert f"`cuvein {name}" in page
        # The options of "run" are in tables, those of the others in the line that tells their usage.
        for parameter in command.params:
            options = [word for word in [*parameter.opts, *parameter.secondary_opts] if word.startswith("--")]
            assert not options or any(word in page for word in options) or options == ["--help"], (
                name,
                options,
            )


def test_help_and_version_work() -> None:
    for words in ([], *([command] for command in COMMANDS), ["trace", "info"]):
        # In this process, since starting another one takes far longer than the help.
        assert CliRunner().invoke(build(), [*words, "--help"]).exit_code == 0
    assert cuvein(Path(), "--version").stdout.startswith("cuvein ")


def test_schema_is_the_published_one() -> None:
    published = Path(__file__).parents[2] / "docs" / "launch-profile.schema.json"
    assert cuvein(Path(), "schema").stdout == published.read_text()


@pytest.mark.parametrize("cut", [False, True])
def test_a_trace_whose_name_is_no_text(trace: Path, cut: bool) -> None:
    path = trace.parent / os.fsdecode(b"tr\xffce .cvt")
    path.write_bytes(trace.read_bytes()[: -40 if cut else None])
    done = cuvein(trace.parent, "analyze", path, "--output", "out")
    assert done.returncode == (121 if cut else 0), done.stderr
    (summary,) = (trace.parent / "out").glob("process-*/process.json")
    assert read_process(summary).trace == str(trace.parent / "tr\ufffdce .cvt")
