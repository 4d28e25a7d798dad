"""Modules are found by hash, and what is not the module is never taken for it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuvein.source import Cubin, LineTable, Missing, ModuleStore, TraceModules
from cuvein.trace import write
from golden.modules.recorded import NAMES, module

if TYPE_CHECKING:
    from pathlib import Path

DATA = module("triton")
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.mark.parametrize("inside", ["modules", ".", "process-12/modules"])
def test_a_module_is_found_in_a_profile_folder(inside: str, tmp_path: Path) -> None:
    folder = tmp_path / inside
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{SHA256}.cubin").write_bytes(DATA)
    store = ModuleStore([tmp_path])
    assert store.data(SHA256) == DATA
    assert isinstance(store.cubin(SHA256), Cubin)


def test_a_module_with_other_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / f"{SHA256}.cubin").write_bytes(DATA[:-1])
    found = ModuleStore([tmp_path]).data(SHA256)
    assert isinstance(found, Missing)
    assert "its content does not fit its name" in found.why


def test_a_good_copy_elsewhere_serves_for_a_damaged_one(tmp_path: Path) -> None:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / f"{SHA256}.cubin").write_bytes(b"")
    (tmp_path / f"{SHA256}.cubin").write_bytes(DATA)
    assert ModuleStore([tmp_path]).data(SHA256) == DATA


@pytest.mark.parametrize("sha256", ["", "../../etc/passwd", SHA256.upper(), SHA256[:-1]])
def test_what_is_no_hash_is_said_to_be_none(sha256: str, tmp_path: Path) -> None:
    assert "is not the SHA-256 of a module" in str(ModuleStore([tmp_path]).data(sha256))


def test_a_missing_module_is_a_reason(tmp_path: Path) -> None:
    assert "is not beside the profile" in str(ModuleStore([tmp_path, tmp_path / "none"]).cubin(SHA256))
    assert "does not say which module" in str(ModuleStore().cubin(None))


def test_a_module_in_memory_is_lent_as_a_file_and_removed() -> None:
    class Held:
        def module(self, sha256: str) -> bytes | None:
            return DATA if sha256 == SHA256 else None

    with ModuleStore(sources=[Held()]).file(SHA256) as path:
        assert not isinstance(path, Missing)
        assert path.read_bytes() == DATA
    assert not path.exists()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not an ELF file"),
        (b"\x7fEL", "not an ELF file"),
        (b"\x7fELF", "damaged"),
        (DATA[:40], "damaged"),
        (b"// PTX text", "not an ELF file"),
    ],
)
def test_what_is_no_module_is_a_reason(data: bytes, says: str) -> None:
    missing = LineTable.of(data)
    assert isinstance(missing, Missing)
    assert says in missing.why
    assert "\n" not in str(missing)


def test_a_host_program_is_not_a_module() -> None:
    host = bytearray(DATA)
    host[18:20] = (62).to_bytes(2, "little")
    assert "not GPU code" in str(Cubin.of(bytes(host)))


@pytest.mark.parametrize("name", NAMES)
def test_a_module_cut_off_anywhere_gives_right_lines_or_none(name: str) -> None:
    data = module(name)
    whole = LineTable.of(data)
    function = next(iter(Cubin.of(data).functions))
    for length in range(0, len(data), 97):
        table = LineTable.of(data[:length])
        if isinstance(table, LineTable):
            assert isinstance(whole, LineTable)
            assert table.at(function, 0x40) in {(), whole.at(function, 0x40)}


@settings(max_examples=200, deadline=2000)
@given(st.data())
def test_a_module_with_changed_bytes_gives_an_answer(data: st.DataObject) -> None:
    changed = bytearray(module("lineinfo"))
    for _ in range(data.draw(st.integers(1, 8))):
        changed[data.draw(st.integers(4, len(changed) - 1))] = data.draw(st.integers(0, 255))
    table = LineTable.of(bytes(changed))
    if isinstance(table, LineTable):
        for offset in range(0, 0x300, 16):
            table.at("_Z7combineIfEvPT_PKS0_i", offset)


def test_variables_of_the_module_are_listed() -> None:
    cubin = Cubin.of(module("lineinfo"))
    assert isinstance(cubin, Cubin)
    assert [(v.name, v.section, v.size) for v in cubin.variables] == [("table", ".nv.global", 1024)]


def trace_with(path: Path) -> Path:
    write(path, [], modules=[module(name) for name in NAMES])
    return path


def test_a_module_is_found_in_a_trace(tmp_path: Path) -> None:
    store = ModuleStore(sources=[TraceModules(trace_with(tmp_path / "app.cuvein"))])
    for name in NAMES:
        assert store.data(hashlib.sha256(module(name)).hexdigest()) == module(name)
    assert "is not beside the profile" in str(store.data("0" * 64))


def test_a_damaged_trace_gives_what_comes_before_the_damage_and_a_reason(tmp_path: Path) -> None:
    path = trace_with(tmp_path / "app.cuvein")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    store = ModuleStore(sources=[TraceModules(path)])
    assert store.data(hashlib.sha256(module(NAMES[0])).hexdigest()) == module(NAMES[0])
    lost = store.data(hashlib.sha256(module(NAMES[-1])).hexdigest())
    assert isinstance(lost, Missing)
    assert str(path) in lost.why


def test_a_trace_that_is_not_there_is_a_reason(tmp_path: Path) -> None:
    missing = ModuleStore(sources=[TraceModules(tmp_path / "none")]).data(SHA256)
    assert isinstance(missing, Missing)
    assert "none" in missing.why


def test_a_folder_that_cannot_be_looked_into_is_a_reason(tmp_path: Path) -> None:
    found = ModuleStore([tmp_path / ("x" * 300)]).data(SHA256)
    assert isinstance(found, Missing)
    assert "File name too long" in found.why
