"""Call sites in words: Python and machine code, and what cannot be known of either."""

from __future__ import annotations

import json
import os
import subprocess
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import replace

from cuvein.collect import installation
from cuvein.profile import violations
from cuvein.profile.model import Allocation, CallSite, HostFrame, HostModule, Launch, PythonFrame
from cuvein.source import HostSymbols, launched_at, made_at, native_calls
from cuvein.source.host_symbols import _rows
from cuvein.source.objects import objects_of
from reference.sample import LAUNCH, PROFILE

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = r"""
#include <dlfcn.h>
#include <cstdint>
#include <cstdio>
#include <vector>
namespace app {
struct Solver {
  void step(void* monitor);
};
__attribute__((noinline)) void Solver::step(void* monitor) {
  auto* describe = reinterpret_cast<uint64_t (*)(char*, uint64_t)>(dlsym(monitor, "cuvein_describe"));
  std::vector<char> text(1 << 20);
  const uint64_t size = describe(text.data(), text.size());  // the launch
  fwrite(text.data(), 1, size, stdout);
}
}  // namespace app
int main(int, char** arguments) {
  void* monitor = dlopen(arguments[1], RTLD_NOW);
  reinterpret_cast<int (*)()>(dlsym(monitor, "InitializeInjection"))();
  app::Solver().step(monitor);
}
"""
LINE = next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if "the launch" in line)


def site(**parts: Any) -> CallSite:
    return CallSite(**{"python": [], "native": [], "ranges": [], "operators": [], **parts})


def launch_from(*sites: CallSite, **changes: Any) -> Launch:
    return replace(LAUNCH, site=0, sites=list(sites), **changes)


def recorded(folder: Path, *options: str, text: str = PROGRAM) -> tuple[Launch, Path]:
    """Run a C++ program that asks what a launch would be told, built with ``options``."""
    source, program = folder / "solver.cpp", folder / "solver"
    source.write_text(text)
    subprocess.run(["g++", *options, str(source), "-o", str(program), "-ldl"], check=True)
    configuration = folder / "configuration.json"
    configuration.write_text(
        json.dumps(
            {"sanitizer": "/absent", "output": str(folder / "out"), "engine": "host", "call_sites": True}
        )
    )
    done = subprocess.run(
        [str(program), str(installation.monitor())],
        env={**os.environ, "CUVEIN_CONFIG": str(configuration)},
        capture_output=True,
        check=True,
    )
    found = json.loads(done.stdout)
    launch = replace(
        LAUNCH,
        site=found["site"],
        sites=msgspec.convert(found["sites"], list[CallSite]),
        host_modules=msgspec.convert(found["host_modules"], list[HostModule]),
    )
    return launch, program


# --- Python ------------------------------------------------------------------------------------------------


def test_the_program_s_own_line_is_shown_not_the_library_s() -> None:
    frames = [
        PythonFrame("/v/lib/python3.12/site-packages/torch/nn/functional.py", 2140, "softmax"),
        PythonFrame("/home/me/train.py", 31, "Model.forward"),
        PythonFrame("/home/me/train.py", 60, "<module>"),
    ]
    found = launched_at(launch_from(site(python=frames, operators=["aten::softmax.int", "aten::_softmax"])))
    assert found is not None
    assert str(found.place) == "train.py:31 in Model.forward"
    assert found.operator == "aten::softmax.int > aten::_softmax"
    assert str(found) == "train.py:31 in Model.forward, aten::softmax.int"
    only_library = launched_at(launch_from(site(python=frames[:1])))
    assert str(only_library) == "functional.py:2140 in softmax"


@pytest.mark.parametrize("file", ["<string>", "<ipython-input-3-ab>", "/tmp/ipykernel_7/12.py", "<stdin>"])
def test_lines_without_a_file_are_the_program_s_own(file: str) -> None:
    frames = [
        PythonFrame("/tmp/torchinductor_me/ab/cab.py", 9, "call"),
        PythonFrame("<eval_with_key>.4", 5, "forward"),
        PythonFrame("<frozen runpy>", 88, "_run_code"),
        PythonFrame(file, 3, "<module>"),
    ]
    found = launched_at(launch_from(site(python=frames)))
    assert found is not None
    assert found.place is not None
    assert (found.place.file, found.place.line) == (file, 3)


def test_code_made_at_run_time_does_not_hide_the_program_s_file() -> None:
    frames = [PythonFrame("<string>", 5, "launcher"), PythonFrame("/me/train.py", 8, "step")]
    found = launched_at(launch_from(site(python=frames)))
    assert str(found) == "train.py:8 in step"


def test_nothing_recorded_is_nothing_said() -> None:
    assert launched_at(LAUNCH) is None
    assert made_at(LAUNCH, LAUNCH.allocations[0]) is None
    unknown = launched_at(launch_from(site(note="Python frames are not known")))
    assert unknown is not None
    assert (unknown.place, str(unknown), unknown.note) == (None, "", "Python frames are not known")


ENGINE = PythonFrame("/v/lib/python3.12/site-packages/torch/autograd/graph.py", 850, "_engine_run_backward")
FORWARD = site(python=[PythonFrame("/me/train.py", 31, "forward")])
START = site(python=[ENGINE, PythonFrame("/me/train.py", 52, "step")])


@pytest.mark.parametrize(
    ("own", "forward", "caller", "text"),
    [
        pytest.param([], 1, 2, "the backward of train.py:31 in forward", id="the gradient of a call"),
        pytest.param([], None, 2, "the backward started at train.py:52 in step", id="of no known call"),
        pytest.param(START.python, 1, None, "the backward of train.py:31 in forward", id="own thread"),
        pytest.param(
            START.python, None, None, "the backward started at train.py:52 in step", id="only start"
        ),
        pytest.param([], 3, 2, "the backward started at train.py:52 in step", id="a call without Python"),
        pytest.param([], 9, 9, "", id="references that lead nowhere"),
        pytest.param(
            [PythonFrame("/me/train.py", 7, "Own.backward"), *START.python],
            1,
            2,
            "train.py:7 in Own.backward",
            id="the program's own backward function",
        ),
    ],
)
def test_of_a_backward_pass_the_forward_call_is_shown(
    own: list[PythonFrame], forward: int | None, caller: int | None, text: str
) -> None:
    node = site(python=own, forward=forward, caller=caller, operators=["MulBackward0"])
    found = launched_at(launch_from(node, FORWARD, START, site()))
    assert found is not None
    assert str(found) == ", ".join(part for part in (text, "MulBackward0") if part)


# --- machine code ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dwarf", ["-gdwarf-4", "-gdwarf-5"])
def test_cpp_lines_are_those_of_the_compiler(dwarf: str, tmp_path: Path) -> None:
    launch, program = recorded(tmp_path, "-O1", dwarf)
    first, second, *_ = native_calls(launch, launch.sites[0])
    assert first.function == "app::Solver::step(void*)"
    assert (first.file, first.line, first.module) == (str(tmp_path / "solver.cpp"), LINE, str(program))
    assert second.function == "main"
    assert str(launched_at(launch)) == f"solver.cpp:{LINE} in app::Solver::step"


@pytest.mark.parametrize("dwarf", ["-gdwarf-4", "-gdwarf-5"])
def test_inlined_calls_have_their_own_lines(dwarf: str, tmp_path: Path) -> None:
    text = PROGRAM.replace("__attribute__((noinline))", "inline __attribute__((always_inline))")
    launch, program = recorded(tmp_path, "-O2", dwarf, text=text)
    first, second, *_ = native_calls(launch, launch.sites[0])
    file = str(tmp_path / "solver.cpp")
    assert (first.function, first.file, first.line) == ("app::Solver::step(void*)", file, LINE)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "step(monitor);" in line)
    assert (second.function, second.file, second.line) == ("main", file, line)
    assert second.module == str(program)


def test_what_nvcc_makes_to_launch_a_kernel_is_not_the_place(tmp_path: Path) -> None:
    launch, _ = recorded(tmp_path, "-O1", "-g")
    assert str(launched_at(launch)) == f"solver.cpp:{LINE} in app::Solver::step"
    kernel = replace(launch.kernel, name="app::Solver::step(void*)")
    place = launched_at(replace(launch, kernel=kernel))
    assert place is not None
    assert place.place is not None
    assert place.place.function == "main"


def test_without_a_line_table_there_is_the_function_and_the_remedy(tmp_path: Path) -> None:
    launch, _ = recorded(tmp_path, "-O1")
    first = native_calls(launch, launch.sites[0])[0]
    assert (first.function, first.line) == ("app::Solver::step(void*)", None)
    assert str(first.why) == "solver has no line table; compile it with -g"
    assert str(launched_at(launch)) == "app::Solver::step"


def test_rows_at_the_end_of_a_sequence_say_nothing_of_what_follows() -> None:
    def entry(address: int, line: int, end: bool = False) -> Any:
        return SimpleNamespace(state=SimpleNamespace(address=address, line=line, file=0, end_sequence=end))

    file = SimpleNamespace(name=b"solver.cpp", dir_index=0)
    entries = [
        entry(16, 5),
        entry(20, 6),
        entry(20, 7),
        entry(20, 7, end=True),
        entry(24, 9),
        entry(28, 9, True),
    ]
    program = SimpleNamespace(
        header={"version": 5, "include_directory": [b"/me"], "file_entry": [file]},
        get_entries=lambda: entries,
    )
    name = "/me/solver.cpp"
    assert _rows(program, "") == [(16, name, 5), (20, "", 0), (24, name, 9), (28, "", 0)]


def test_without_symbols_there_is_the_file(tmp_path: Path) -> None:
    launch, _ = recorded(tmp_path, "-O1", "-s")
    assert native_calls(launch, launch.sites[0])[0].function is None
    assert str(launched_at(launch)) == "solver"


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        ("remove", "solver is not here; look at the profile where the program ran"),
        ("text", "solver is not an ELF file"),
        ("cut", "solver is not an ELF file"),
        ("other", "solver is not the file that ran; look at the profile where it still is"),
    ],
)
def test_a_file_that_is_not_the_one_that_ran_is_not_asked(spoil: str, why: str, tmp_path: Path) -> None:
    launch, program = recorded(tmp_path, "-g")
    whole = program.read_bytes()
    program.unlink()
    if spoil == "text":
        program.write_text("not a program")
    elif spoil == "cut":
        program.write_bytes(whole[:40])
    elif spoil == "other":
        subprocess.run(
            ["g++", "-g", "-O3", str(tmp_path / "solver.cpp"), "-o", str(program), "-ldl"], check=True
        )
    call = HostSymbols().calls(launch.sites[0].native[0], launch.host_modules)[0]
    assert (call.function, call.file, call.line) == (None, None, None)
    assert str(call.why) == why


def test_any_damage_gives_an_answer(tmp_path: Path) -> None:
    launch, program = recorded(tmp_path, "-g")
    whole = program.read_bytes()
    frame = launch.sites[0].native[0]
    for position in range(0, len(whole), max(1, len(whole) // 97)):
        spoiled = bytearray(whole)
        spoiled[position : position + 8] = b"\xff" * len(spoiled[position : position + 8])
        program.unlink()
        program.write_bytes(spoiled)
        call = HostSymbols().calls(frame, launch.host_modules)[0]
        assert call.why is None or str(call.why)


def test_code_without_a_file_is_said_to_be_so() -> None:
    call = HostSymbols().calls(HostFrame(None, 0x7F0012345678), [])[0]
    assert str(call.why) == "the code was made at run time"


def test_a_name_that_was_recorded_needs_no_file() -> None:
    module = HostModule("/nowhere/libsolver.so", "ab" * 20)
    call = HostSymbols().calls(HostFrame(0, 16, "_ZN3app6Solver4stepEPv"), [module])[0]
    assert call.function == "app::Solver::step(void*)"


# --- data objects ------------------------------------------------------------------------------------------


def test_tensors_are_named_by_shape_and_by_where_they_were_made() -> None:
    made = site(
        python=[PythonFrame("/me/train.py", 12, "forward")], operators=["aten::relu", "aten::empty_like"]
    )
    launch = launch_from(
        made,
        allocations=[
            Allocation(0x1000, 0x1000, "device", site=0),
            Allocation(0x1200, 64, "tensor", parent=0, shape=[2, 8], dtype="float32", site=0),
            Allocation(0x1400, 64, "tensor", parent=0),
        ],
    )
    segment, tensor, unknown = objects_of(replace(PROFILE, launch=launch))
    assert segment.title == "device allocation at 0x1000 of train.py:12 in forward, aten::relu"
    assert tensor.title == "float32[2, 8] of train.py:12 in forward, aten::relu"
    assert unknown.title == "tensor (64 bytes, shape not known)"
    assert (segment.known, tensor.known, unknown.known) == (True, True, True)


def test_the_same_line_makes_the_same_tensor_wherever_it_lies() -> None:
    def key(address: int, index: int | None) -> tuple[object, ...]:
        made = site(python=[PythonFrame("/me/train.py", 12, "forward")])
        tensor = Allocation(address, 64, "tensor", shape=[16], dtype="float32", site=index)
        return objects_of(replace(PROFILE, launch=launch_from(made, allocations=[tensor])))[0].key

    assert key(0x1000, 0) == key(0x2000, 0)
    assert key(0x1000, None) != key(0x2000, None)


def test_references_that_lead_nowhere_are_violations() -> None:
    launch = launch_from(
        site(native=[HostFrame(3, 16)], caller=7),
        allocations=[
            Allocation(0x1000, 512, "device", site=4),
            Allocation(0x1000, 64, "tensor", parent=1),
        ],
    )
    faults = violations(replace(PROFILE, launch=replace(launch, site=9)))
    assert len(faults) == 5
