"""Where the nodes of a profile come from, with everything there and with everything missing."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from cuvein.source import LineCoverage, Locator, Missing, SourceFile
from golden.modules.launch import launch_of
from golden.modules.recorded import FOLDER, module
from reference.sample import PROFILE

if TYPE_CHECKING:
    from cuvein.profile.model import LaunchProfile

# The loads of the kernel and of the function it calls.
KERNEL_LOAD, LIBRARY_LOAD = 0xC0, 0x60

pytestmark = pytest.mark.usefixtures("own_cache")


def profile_of(name: str) -> LaunchProfile:
    """Make a profile of the recorded module's kernel with a node in each function."""
    nodes = [
        replace(PROFILE.nodes[0], id=0, pc=KERNEL_LOAD, function=0),
        replace(PROFILE.nodes[0], id=1, pc=LIBRARY_LOAD, function=1),
    ]
    return replace(PROFILE, launch=launch_of(name), nodes=nodes, edges=[])


def folder_with(folder: Path, name: str) -> Path:
    modules = folder / "modules"
    modules.mkdir()
    (modules / f"{hashlib.sha256(module(name)).hexdigest()}.cubin").write_bytes(module(name))
    return folder / "launch-000001.json"


def test_every_node_has_function_lines_instruction_and_text(tmp_path: Path) -> None:
    profile = profile_of("linked")
    locator = Locator.beside(folder_with(tmp_path, "linked"), roots=[FOLDER / "sources"])
    kernel, library = locator.nodes(profile).values()
    assert (kernel.function, kernel.line) == ("linked(float*, float const*)", "kernel_part.cu:7")
    assert str(getattr(kernel.instruction, "text", kernel.instruction)).startswith("LDG.E R")
    assert (library.function, library.line) == ("library(float const*, int)", "scaling.cuh:13")
    assert str(getattr(library.instruction, "text", library.instruction)).startswith("LD.E R")
    assert isinstance(library.frames, tuple)
    assert locator.frames(profile, profile.nodes[1]) == library.frames
    finder = locator.sources(profile.launch.kernel.module)
    assert [finder.line(frame) for frame in library.frames] == [
        "    sum += from[i * N + k];",
        "__device__ float library(const float* x, int i) "
        "{ return gather<float, 3>(x, i) + scale(x[i], 3.0f); }",
    ]
    assert locator.coverage(profile) == LineCoverage("full", 2, 2, None)
    assert {Path(file).name for file in locator.files(profile)} == {
        "kernel_part.cu",
        "library_part.cu",
        "scaling.cuh",
    }


def test_a_library_without_lines_is_partial_and_its_node_says_so(tmp_path: Path) -> None:
    profile = profile_of("partial")
    locator = Locator.beside(folder_with(tmp_path, "partial"))
    coverage = locator.coverage(profile)
    assert isinstance(coverage, LineCoverage)
    assert (coverage.level, coverage.with_line) == ("partial", 1)
    frames = locator.nodes(profile)[1].frames
    assert frames == Missing("library has no line here", "compile it with -lineinfo too")


def test_without_the_module_everything_else_still_comes(tmp_path: Path) -> None:
    profile = profile_of("linked")
    locator = Locator.beside(tmp_path / "launch-000001.json")
    nodes = locator.nodes(profile)
    assert [node.function for node in nodes.values()] == [f.name for f in profile.launch.functions]
    for part in (nodes[0].frames, nodes[0].instruction, locator.coverage(profile)):
        assert isinstance(part, Missing)
        assert "is not beside the profile" in part.why
    assert nodes[0].line is None
    assert locator.frames(profile, profile.nodes[0]) == nodes[0].frames
    assert locator.files(profile) == set()


def test_instructions_are_left_out_when_not_asked_for(tmp_path: Path) -> None:
    profile = profile_of("linked")
    node = Locator.beside(folder_with(tmp_path, "linked"), sass=False).nodes(profile)[0]
    assert node.instruction == Missing("instructions were not asked for")
    assert node.line == "kernel_part.cu:7"


def test_a_missing_source_file_leaves_the_line_number(tmp_path: Path) -> None:
    profile = profile_of("linked")
    locator = Locator.beside(folder_with(tmp_path, "linked"), sass=False)
    text = locator.sources(profile.launch.kernel.module).file("/kernels/kernel_part.cu")
    assert not isinstance(text, SourceFile)
    assert "is not here" in text.why
    assert locator.nodes(profile)[0].line == "kernel_part.cu:7"
