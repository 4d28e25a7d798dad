"""Instructions by program counter, their cache, and every way nvdisasm can fail."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import pytest

from cuvein.source import Cubin, Disassembler, Instruction, Missing, ModuleStore, Nvdisasm, cache_folder
from cuvein.source import nvdisasm as nvdisasm_module
from golden.modules.recorded import NAMES, module, nvdisasm_text

if TYPE_CHECKING:
    from pathlib import Path

# Found once: it is asked for its version each time.
TOOL = Nvdisasm.find()
COMBINE = "_Z7combineIfEvPT_PKS0_i"


class Held:
    """Modules in memory."""

    def __init__(self, *modules: bytes) -> None:
        self.modules = {hashlib.sha256(data).hexdigest(): data for data in modules}

    def module(self, sha256: str) -> bytes | None:
        return self.modules.get(sha256)


def sha256_of(name: str) -> str:
    return hashlib.sha256(module(name)).hexdigest()


def disassembler_of(
    *names: str, tool: Nvdisasm | Missing | None = None, cache: Path | None = None
) -> Disassembler:
    return Disassembler(ModuleStore(sources=[Held(*map(module, names))]), tool or TOOL, cache)


def script(folder: Path, text: str, name: str = "nvdisasm") -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def tool_of(folder: Path, text: str) -> Nvdisasm:
    """Make a pretended nvdisasm; each call is noted in the file ``calls``."""
    return Nvdisasm(script(folder, f'echo "$@" >> "{folder}/calls"\n{text}'), "13.5.0")


def instructions_of(listing: str) -> dict[tuple[str, int], tuple[str, dict[str, int]]]:
    """Read nvdisasm's text: by section and offset the instruction, and its section's labels."""
    found: dict[tuple[str, int], tuple[str, dict[str, int]]] = {}
    for part in re.split(r"\t\.section\t(?=\.text\.)", listing)[1:]:
        labels: dict[str, int] = {}
        waiting: list[str] = []
        offset = -16
        for line in part.splitlines():
            if label := re.match(r"(\.L_x_\d+):", line):
                waiting.append(label[1])
            elif instruction := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", line):
                offset = int(instruction[1], 16)
                labels.update(dict.fromkeys(waiting, offset))
                waiting.clear()
                found[part.partition(",")[0], offset] = (re.sub(r"\s+", " ", instruction[2]), labels)
        labels.update(dict.fromkeys(waiting, offset + 16))
    return found


def test_the_wheels_nvdisasm_is_found() -> None:
    assert isinstance(TOOL, Nvdisasm)
    assert re.fullmatch(r"13\.\d+\.\d+", TOOL.version)
    assert "nvidia" in TOOL.path.parts


@pytest.mark.parametrize("name", NAMES)
def test_each_instruction_is_the_one_in_nvdisasms_listing(name: str) -> None:
    cubin = Cubin.of(module(name))
    assert isinstance(cubin, Cubin)
    listed = instructions_of(nvdisasm_text(name))
    disassembler = disassembler_of(name)
    disassembler.prepare(sha256_of(name), cubin.functions)
    for function in cubin.functions.values():
        listing = disassembler.function(sha256_of(name), function.name)
        assert isinstance(listing, tuple)
        assert len(listing) == function.size // 16
        section = cubin.section_name(function.section)
        for instruction in listing:
            text, labels = listed[section, function.start + instruction.offset]
            for label in re.findall(r"\.L_x_\d+", text):
                text = text.replace(f"{label}@srel", f"{labels[label]:#x}")
                text = text.replace(label, f"{labels[label] - function.start:#x}")
            assert instruction.text == re.sub(r"`\(([^)]*)\)", r"\1", text)


def test_an_instruction_has_predicate_opcode_and_operands() -> None:
    found = disassembler_of("lineinfo").instruction(sha256_of("lineinfo"), COMBINE, 0x70)
    assert found == Instruction(0x70, "@P0", "EXIT", "", None)
    load = disassembler_of("lineinfo").instruction(sha256_of("lineinfo"), COMBINE, 0x130)
    assert isinstance(load, Instruction)
    assert load.text == "LDG.E R2, desc[UR4][R2.64]"


def test_both_halves_of_an_asynchronous_copy_are_one_instruction() -> None:
    disassembler = disassembler_of("lineinfo")
    first, second = (disassembler.instruction(sha256_of("lineinfo"), COMBINE, pc) for pc in (0x130, 0x131))
    assert first == second


def test_a_call_names_the_function_it_calls() -> None:
    listing = disassembler_of("called").function(sha256_of("called"), "once_called")
    assert isinstance(listing, tuple)
    assert {instruction.calls for instruction in listing} == {None, "$once_called$_Z6lookupPKfi"}


def test_the_neighbourhood_ends_with_the_function() -> None:
    disassembler, sha256 = disassembler_of("called"), sha256_of("called")
    start = disassembler.neighbourhood(sha256, "_Z6lookupPKfi", 0, "once_called", before=3, after=1)
    assert isinstance(start, tuple)
    assert [instruction.offset for instruction in start] == [0, 16]
    listing = disassembler.function(sha256, "_Z6lookupPKfi", "once_called")
    assert isinstance(listing, tuple)
    end = disassembler.neighbourhood(sha256, "_Z6lookupPKfi", listing[-1].offset, "once_called", before=1)
    assert end == listing[-2:]


def test_only_the_functions_asked_for_are_disassembled_and_together(tmp_path: Path) -> None:
    assert isinstance(TOOL, Nvdisasm)
    tool = tool_of(tmp_path, f'exec "{TOOL.path}" "$@"')
    disassembler, sha256 = disassembler_of("lineinfo", tool=tool), sha256_of("lineinfo")
    disassembler.prepare(sha256, [COMBINE, "_Z5resetPf"])
    for function in (COMBINE, "_Z5resetPf"):
        assert isinstance(disassembler.function(sha256, function), tuple)
    (call,) = (tmp_path / "calls").read_text().splitlines()
    cubin = Cubin.of(module("lineinfo"))
    assert isinstance(cubin, Cubin)
    symbols = sorted(cubin.functions[name].symbol for name in (COMBINE, "_Z5resetPf"))
    assert f"-fun {symbols[0]},{symbols[1]} " in call


def test_the_cache_serves_the_next_run_and_survives_damage(tmp_path: Path) -> None:
    assert isinstance(TOOL, Nvdisasm)
    tool, cache, sha256 = (
        tool_of(tmp_path, f'exec "{TOOL.path}" "$@"'),
        tmp_path / "cache",
        sha256_of("triton"),
    )
    listings = [disassembler_of("triton", tool=tool, cache=cache).function(sha256, "rows") for _ in range(2)]
    assert listings[0] == listings[1]
    assert len((tmp_path / "calls").read_text().splitlines()) == 1
    (entry,) = cache.rglob("*.json")
    entry.write_bytes(entry.read_bytes()[:-5])
    assert disassembler_of("triton", tool=tool, cache=cache).function(sha256, "rows") == listings[0]
    assert len((tmp_path / "calls").read_text().splitlines()) == 2


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert isinstance(disassembler_of("triton", cache=blocked).function(sha256_of("triton"), "rows"), tuple)


def test_the_cache_is_where_xdg_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "cuvein" / "sass"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "cuvein" / "sass"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "echo 'nvdisasm fatal   : File x is an invalid ELF file' >&2; exit 1",
            "File x is an invalid ELF file",
        ),
        ("exit 3", "status 3"),
        ("kill -11 $$", "status -11"),
        ("echo", "gave no code"),
        (
            "printf '\\t.section\\t.text.rows,x\\n /*0000*/ NOP;\\n /*0020*/ NOP;\\n'",
            "has a gap before offset 0x0020",
        ),
    ],
)
def test_a_failing_nvdisasm_is_a_reason(text: str, says: str, tmp_path: Path) -> None:
    found = disassembler_of("triton", tool=tool_of(tmp_path, text)).instruction(
        sha256_of("triton"), "rows", 0
    )
    assert isinstance(found, Missing)
    assert says in found.why
    assert "\n" not in str(found)


def test_an_nvdisasm_that_hangs_is_ended(tmp_path: Path) -> None:
    store = ModuleStore(sources=[Held(module("triton"))])
    disassembler = Disassembler(store, tool_of(tmp_path, "exec sleep 60"), timeout=0.2)
    found = disassembler.instruction(sha256_of("triton"), "rows", 0)
    assert found == Missing("nvdisasm did not finish within 0.2 seconds")


def test_an_absent_nvdisasm_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(nvdisasm_module, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    disassembler = Disassembler(ModuleStore(sources=[Held(module("triton"))]))
    found = disassembler.instruction(sha256_of("triton"), "rows", 0)
    assert found == Missing("nvdisasm is not installed", "install it with: pip install nvidia-cuda-nvdisasm")


def test_without_the_wheel_the_one_on_the_path_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(nvdisasm_module, "find_spec", lambda _: None)
    script(tmp_path, "echo Cuda compilation tools, release 12.9, V12.9.86")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert Nvdisasm.find() == Nvdisasm(tmp_path / "nvdisasm", "12.9.86")


def test_what_is_not_nvdisasm_is_not_used(tmp_path: Path) -> None:
    assert "does not say which" in str(Nvdisasm.at(script(tmp_path, "echo hello")))
    unusable = tmp_path / "text"
    unusable.write_text("not a program")
    assert "cannot be run" in str(Nvdisasm.at(unusable))
    assert "there is no nvdisasm at" in str(Nvdisasm.at(tmp_path / "none"))


def test_an_unknown_function_module_or_offset_is_a_reason() -> None:
    disassembler, sha256 = disassembler_of("triton"), sha256_of("triton")
    assert "has no function" in str(disassembler.instruction(sha256, "columns", 0))
    assert "ends before offset" in str(disassembler.instruction(sha256, "rows", 1 << 20))
    assert "is not beside the profile" in str(disassembler.instruction("0" * 64, "rows", 0))
    assert "does not say which module" in str(disassembler.instruction(None, "rows", 0))
