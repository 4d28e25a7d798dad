"""Each instruction's lines are those nvdisasm gives, for every recorded module."""

from __future__ import annotations

import subprocess

import pytest

from cuvein.source import Cubin, LineTable, Missing, Nvdisasm
from golden.modules.recorded import FOLDER, NAMES, module, nvdisasm_lines, nvdisasm_text

WITH_LINES = [name for name in NAMES if name != "no_lines"]


def cubin_of(name: str) -> Cubin:
    cubin = Cubin.of(module(name))
    assert isinstance(cubin, Cubin)
    return cubin


def table_of(name: str) -> LineTable:
    table = LineTable.of(module(name))
    assert isinstance(table, LineTable)
    return table


def compare(name: str, listing: str) -> int:
    """Compare every instruction of a module; return how many there are."""
    cubin, table, sections = cubin_of(name), LineTable.of(module(name)), nvdisasm_lines(listing)
    compared = set()
    for function in cubin.functions.values():
        lines = sections[cubin.section_name(function.section)]
        for offset in range(0, function.size, 16):
            frames = () if isinstance(table, Missing) else table.at(function.name, offset)
            found = [(frame.file, frame.line) for frame in frames]
            # nvdisasm does not know the calls that only .debug_info has.
            known = found[:1] if "device_debug" in name else found
            assert known == lines[function.start + offset], f"{function.name}+{offset:#x}"
            compared.add((function.section, function.start + offset))
    assert len(compared) == sum(map(len, sections.values()))
    return len(compared)


@pytest.mark.parametrize("name", NAMES)
def test_each_instruction_has_the_lines_nvdisasm_gave(name: str) -> None:
    assert compare(name, nvdisasm_text(name)) > 0


@pytest.mark.parametrize("name", NAMES)
def test_each_instruction_has_the_lines_the_installed_nvdisasm_gives(name: str) -> None:
    tool = Nvdisasm.find()
    assert isinstance(tool, Nvdisasm), tool
    command = [tool.path, "-c", "-g", "-gi", FOLDER / f"{name}.cubin"]
    assert compare(name, subprocess.run(command, check=True, capture_output=True, text=True).stdout) > 0


def test_the_inline_chain_names_functions_from_the_innermost_out() -> None:
    kernel = "_Z7combineIfEvPT_PKS0_i"
    chains = {table_of("lineinfo").at(kernel, offset) for offset in range(0, 0x300, 16)}
    deepest = max(chains, key=len)
    assert len(deepest) == 3
    assert [frame.function for frame in deepest][1:] == ["_Z5twicePKfi", kernel]
    assert {chain[0].function for chain in chains if len(chain) == 3} == {
        "_Z5scaleff",
        "_Z6gatherIfLi2EET_PKS0_i",
    }
    assert deepest[0].file == "/kernels/scaling.cuh"


def test_a_device_debug_build_has_the_inline_chain_of_its_debug_information() -> None:
    kernel, table = "_Z7combineIfEvPT_PKS0_i", table_of("device_debug")
    chains = {table.at(kernel, offset) for offset in range(0, 0xC80, 16)}
    described = {tuple((frame.file[9:], frame.line, frame.function) for frame in chain) for chain in chains}
    call = ("inlined.cu", 14, kernel)
    twice = ("inlined.cu", 7, "_Z5twicePKfi")
    gather = "_Z6gatherIfLi2EET_PKS0_i"
    assert described == {
        *(((("inlined.cu", line, kernel)),) for line in (11, 12, 13, 14, 16)),
        (twice, call),
        *((("scaling.cuh", line, gather), twice, call) for line in (10, 12, 13, 15)),
    }


def test_triton_lines_are_those_of_the_python_source() -> None:
    table = table_of("triton")
    source = (FOLDER / "sources" / "rows.py").read_text().splitlines()
    chains = [table.at("rows", offset) for offset in range(0, 0x400, 16)]
    lines = {source[chain[-1].line - 1].strip() for chain in chains if chain}
    assert "values = tl.load(x + row * n + at, mask=mask, other=0.0)" in lines
    assert {chain[-1].file for chain in chains if chain} == {"/kernels/rows.py"}


def test_numba_lines_are_those_of_the_python_source() -> None:
    (kernel,) = cubin_of("numba").functions
    chains = [table_of("numba").at(kernel, offset) for offset in range(0, 0x400, 16)]
    source = (FOLDER / "sources" / "scale.py").read_text().splitlines()
    lines = {source[chain[-1].line - 1].strip() for chain in chains if chain}
    assert "out[i] = weight(x, i) + x[n - 1 - i]" in lines
    assert {chain[-1].file for chain in chains if chain} == {"/kernels/scale.py"}


@pytest.mark.parametrize("kernel", ["once_called", "twice_called"])
def test_a_called_function_is_found_by_its_own_name_and_by_the_copys(kernel: str) -> None:
    table, cubin = table_of("called"), cubin_of("called")
    plain, copy = "_Z6lookupPKfi", f"${kernel}$_Z6lookupPKfi"
    assert plain not in cubin.functions
    size = cubin.functions[copy].size
    frames = [table.at(plain, offset, kernel) for offset in range(0, size, 16)]
    assert frames == [table.at(copy, offset) for offset in range(0, size, 16)]
    assert {frame.line for chain in frames for frame in chain} <= set(range(2, 10))


def test_a_called_function_with_several_copies_and_no_kernel_is_not_guessed() -> None:
    assert table_of("called").at("_Z6lookupPKfi", 0) == ()


def test_units_linked_together_keep_their_own_files_and_inline_rows() -> None:
    table = table_of("linked")
    assert table.at("_Z6linkedPfPKf", 0)[-1].file == "/kernels/kernel_part.cu"
    chains = [table.at("_Z7libraryPKfi", offset) for offset in range(0, 0x120, 16)]
    assert {chain[-1].file for chain in chains} == {"/kernels/library_part.cu"}
    assert {chain[0].function for chain in chains if len(chain) > 1} == {
        "_Z5scaleff",
        "_Z6gatherIfLi3EET_PKS0_i",
    }


@pytest.mark.parametrize("name", ["lineinfo", "linked", "partial", "nvrtc"])
def test_an_inlined_functions_name_is_the_one_its_line_lies_in(name: str) -> None:
    bodies = {
        "_Z5scaleff": ("scaling.cuh", range(4, 7)),
        "_Z6gatherIfLi2EET_PKS0_i": ("scaling.cuh", range(8, 17)),
        "_Z6gatherIfLi3EET_PKS0_i": ("scaling.cuh", range(8, 17)),
        "_Z5twicePKfi": ("inlined.cu", range(6, 9)),
        "_Z7at_mostIfET_S0_S0_": ("runtime.cu", range(1, 5)),
    }
    cubin, table = cubin_of(name), table_of(name)
    inlined = {
        frame
        for function in cubin.functions.values()
        for offset in range(0, function.size, 16)
        for frame in table.at(function.name, offset)[:-1]
    }
    assert inlined
    for frame in inlined:
        file, lines = bodies[str(frame.function)]
        assert frame.file.endswith(file)
        assert frame.line in lines


def test_coverage_is_full_partial_or_none_and_says_what_to_do() -> None:
    places = [("_Z6linkedPfPKf", 0xC0), ("_Z7libraryPKfi", 0x60)]
    full = table_of("linked").coverage(places)
    assert (full.level, full.with_line, full.instructions, full.remedy) == ("full", 2, 2, None)
    partial = table_of("partial").coverage(places)
    assert (partial.level, partial.with_line, partial.instructions) == ("partial", 1, 2)
    assert partial.remedy is not None
    assert "-lineinfo" in partial.remedy
    assert table_of("partial").coverage(places[1:]).level == "none"


def test_a_module_without_lines_says_how_to_get_them() -> None:
    missing = LineTable.of(module("no_lines"))
    assert isinstance(missing, Missing)
    assert missing.why == "the module has no line information"
    assert "-lineinfo" in (missing.remedy or "")


@pytest.mark.parametrize("offset", [-16, 0x300, 1 << 40])
def test_an_offset_outside_the_function_has_no_line(offset: int) -> None:
    assert table_of("lineinfo").at("_Z7combineIfEvPT_PKS0_i", offset) == ()


def test_an_unknown_function_has_no_line() -> None:
    assert table_of("lineinfo").at("_Z4nonev", 0) == ()


@pytest.mark.parametrize("name", WITH_LINES)
def test_the_files_are_those_of_the_frames(name: str) -> None:
    cubin, table = cubin_of(name), table_of(name)
    frames = {
        frame.file
        for function in cubin.functions.values()
        for offset in range(0, function.size, 16)
        for frame in table.at(function.name, offset)
    }
    assert frames <= set(table.files())
