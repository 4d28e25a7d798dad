"""The programs of others: what is said of them fits together, and every failure is a sentence."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import inputs
import programs
from programs import PROGRAMS, REPOSITORIES, Input, Program


def test_every_program_is_of_a_repository_at_a_commit():
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)
    assert {program.repository for program in PROGRAMS} == set(REPOSITORIES)
    assert all(len(repository.commit) == 40 for repository in REPOSITORIES.values())


@pytest.mark.parametrize("program", [one for one in PROGRAMS if one.small.write], ids=lambda one: one.name)
def test_small_input_has_the_files_that_the_arguments_name(program, tmp_path):
    program.small.write(tmp_path)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    named = [word for word in program.small.arguments.split() if word in written]
    if program.repository == "rodinia" and program.name != "rodinia/srad_v1":
        assert named
    again = tmp_path / "again"
    again.mkdir()
    program.small.write(again)
    assert {path.name: path.read_bytes() for path in again.iterdir()} == written


def test_edges_of_a_graph_are_where_the_nodes_say(tmp_path):
    inputs.graph(20)(tmp_path)
    numbers = [int(word) for word in (tmp_path / "graph.txt").read_text().split()]
    nodes, numbers = numbers[0], numbers[1:]
    starts, degrees, rest = numbers[: 2 * nodes : 2], numbers[1 : 2 * nodes : 2], numbers[2 * nodes :]
    assert starts == np.cumsum([0, *degrees[:-1]]).tolist()
    assert rest[0] == 0
    assert rest[1] == sum(degrees) == len(rest[2:]) / 2
    assert all(0 <= target < nodes for target in rest[2::2])


def test_model_has_as_many_weights_as_its_header_says(tmp_path):
    inputs.gpt2(layers=2, heads=2, channels=8, vocabulary=100, length=16, steps=3)(tmp_path)
    data = (tmp_path / "gpt2_124M.bin").read_bytes()
    _, _, length, _, layers, _, channels, padded = struct.unpack("8i", data[:32])
    each = 12 * channels**2 + 13 * channels
    assert (len(data) - 1024) // 4 == (padded + length) * channels + layers * each + 2 * channels
    tokens = np.frombuffer((tmp_path / "tokens.bin").read_bytes()[1024:], np.uint16)
    assert len(tokens) == 4 * 16 * 3 + 1
    assert tokens.max() < 100


def test_what_cannot_be_built_is_said_and_the_rest_is_built(tmp_path, monkeypatch):
    compiler = tmp_path / "nvcc"
    compiler.write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        'grep -q main "$last" || { echo "a.cu(1): error: no main"; exit 1; }\n'
        'while [ "$1" != -o ]; do shift; done\necho "#!/bin/sh" > "$2"\nchmod +x "$2"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setattr(programs.compiler, "nvcc", lambda: str(compiler))
    folder = tmp_path / "sources" / "rodinia" / "x"
    folder.mkdir(parents=True)
    (folder / "good.cu").write_text("int main() { time(0); }")
    (folder / "bad.cu").write_text("")
    edit = (("good.cu", "time(0)", "7"),)
    wanted = [
        Program("rodinia/good", "x", "good.cu", Input("-n 3"), edits=edit),
        Program("rodinia/bad", "x", "bad.cu", Input()),
        Program("rodinia/other", "x", "good.cu", Input(), edits=(("good.cu", "clock()", "7"),)),
        Program("rodinia/gone", "y", "good.cu", Input()),
        Program("rodinia/untimed", "x", "good.cu", Input(), None),
    ]
    built, failed = programs.build_all(
        wanted[:4], "small", sources=tmp_path / "sources", output=tmp_path / "out"
    )
    assert [(item.program.name, item.command[1:]) for item in built] == [("rodinia/good", ["-n", "3"])]
    assert (tmp_path / "out/rodinia/good/sources/good.cu").read_text() == "int main() { 7; }"
    assert [str(error) for error in failed] == [
        "rodinia/bad does not compile: a.cu(1): error: no main",
        "rodinia/other: good.cu does not contain 'clock()'.",
        f"rodinia/gone: {tmp_path / 'sources/rodinia/y'} is missing.",
    ]
    assert programs.build_all(wanted[4:], "usual", sources=tmp_path, output=tmp_path) == ([], [])
