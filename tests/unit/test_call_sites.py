"""Where launches and allocations are asked for: what the monitor finds out in a process without a GPU."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from stand_ins import Program


def interpreters() -> list[str]:
    """Other versions of Python that are here."""
    found = []
    for minor in range(10, 15):
        path = shutil.which(f"python3.{minor}")
        # A name may be there for a version that is not.
        ask = [path or "", "-c", "import ctypes, sys; print(sys.executable)"]
        done = subprocess.run(ask, capture_output=True, text=True, check=False) if path else None
        if done and done.returncode == 0:
            found.append(done.stdout.strip())
    return found


def site_of(found: dict[str, Any]) -> dict[str, Any]:
    site = found["sites"][found["site"]]
    assert isinstance(site, dict)
    return site


@pytest.mark.parametrize("python", [sys.executable, *interpreters()])
def test_python_frames_are_those_that_python_itself_names(python: str, program: Program) -> None:
    found = program.run(
        python=python,
        text="""
class Solver:
    def schritt_ä(self):
        return [self.inner(name) for name in ("one",)]
    def inner(self, name):
        frames, frame = [], sys._getframe()
        description = describe(); line = frame.f_lineno
        while frame:
            code = frame.f_code
            name = getattr(code, "co_qualname", code.co_name)
            frames.append([code.co_filename, frame.f_lineno if frames else line, name])
            frame = frame.f_back
        return [description, frames]
def generator():
    yield Solver().schritt_ä()
print(json.dumps(sorted(generator(), key=lambda x: 0)[0][0]))
""",
    )
    description, frames = found
    site = site_of(description)
    got = [[frame["file"], frame["line"], frame["function"]] for frame in site["python"]]
    assert got[0][2] == "describe"
    assert got[1:] == frames
    assert site["note"] is None


def test_frames_of_another_thread_are_its_own(program: Program) -> None:
    found = program.run(
        """
found = []
def work(): found.append(describe())
thread = threading.Thread(target=work); thread.start(); thread.join()
print(json.dumps(found[0]))
"""
    )
    names = [frame["function"] for frame in site_of(found)["python"]]
    assert names[:2] == ["describe", "work"]
    assert "<module>" not in names


def test_deep_stacks_are_cut_and_say_so(program: Program) -> None:
    found = program.run(
        """
def down(n): return describe() if n == 0 else down(n - 1)
print(json.dumps(down(100)))
"""
    )
    site = site_of(found)
    assert len(site["python"]) == 64
    assert "outermost" in site["note"]


def test_equal_sites_are_one_and_without_the_option_there_are_none(program: Program) -> None:
    text = """
for n in range(3): malloc(0x10000 * (n + 1), 64)
malloc(0x90000, 64)
print(json.dumps(describe()))
"""
    found = program.run(text)
    first, second, third, other = (allocation["site"] for allocation in found["allocations"])
    assert first == second == third != other
    lines = [found["sites"][index]["python"][0]["line"] for index in (first, other)]
    assert lines[1] == lines[0] + 1
    assert [module["path"] for module in found["host_modules"]]
    none = program.run(text, call_sites=False)
    assert none["sites"] == []
    assert none["site"] is None
    assert "site" not in none["allocations"][0]


def test_ranges_are_those_open_on_the_thread(program: Program) -> None:
    found = program.run(
        """
driver.stand_in_nvtx(monitor.InitializeInjectionNvtx2)
result = []
driver.stand_in_push(b"outer"); driver.stand_in_push(b"inner"); result.append(describe())
driver.stand_in_pop(); result.append(describe())
thread = threading.Thread(target=lambda: result.append(describe())); thread.start(); thread.join()
driver.stand_in_pop(); driver.stand_in_pop(); result.append(describe())
print(json.dumps(result))
"""
    )
    assert [site_of(each)["ranges"] for each in found] == [["outer", "inner"], ["outer"], [], []]


def test_operators_are_found_in_the_calls(program: Program) -> None:
    found = program.run(
        """
result = []
def note(): result.append(describe())
inner = ctypes.CFUNCTYPE(None)(note)
driver.stand_in_forward(inner); driver.stand_in_backward(inner)
monitor.cuvein_name_operators(b"aten::add.Tensor\\naten::_softmax\\naten::twice.a\\naten::twice_a\\nprims::x")
describe_again = lambda: result.append(describe())
inner = ctypes.CFUNCTYPE(None)(describe_again)
driver.stand_in_forward(inner); driver.stand_in_backward(inner)
print(json.dumps(result))
"""
    )
    assert [site_of(each)["operators"] for each in found] == [
        ["at::_ops::add_Tensor"],
        ["SoftmaxBackward0", "at::_ops::_softmax"],
        ["aten::add.Tensor"],
        ["SoftmaxBackward0", "aten::_softmax"],
    ]


def test_tensors_cut_the_allocation_they_lie_in(program: Program) -> None:
    found = program.run(
        """
malloc(0x100000, 0x1000)
created(0x100200, 64); named(0x100200, 64, 2, 8)
created(0x100400, 256)
created(0x900000, 64)
print(json.dumps(describe()))
"""
    )
    segment, first, second = found["allocations"]
    assert (segment["address"], segment["size"], segment["kind"]) == (0x100000, 0x1000, "device")
    assert (first["address"], first["size"], first["kind"], first["parent"]) == (0x100200, 64, "tensor", 0)
    assert (first["shape"], first["dtype"]) == ([2, 8], "float32")
    assert second["parent"] == 0
    assert "shape" not in second
    # The memory at 0x900000 is in no allocation that is known.


def test_tensor_is_forgotten_with_its_memory(program: Program) -> None:
    found = program.run(
        """
def now(): result.append([[a["address"], a.get("shape")] for a in describe()["allocations"][1:]])
result = []
malloc(0x100000, 0x1000)
created(0x100000, 64); named(0x100000, 64, 16); now()
destroyed(0x100000); now()
created(0x100000, 64); now()            # what lies there now is not known
named(0x100000, 32, 8); now()           # this is only a part of it
created(0x100020, 64); now()            # so the first must be gone
free(0x100000); malloc(0x100000, 0x1000); now()
print(json.dumps(result))
"""
    )
    at = 0x100000
    assert found == [[[at, [16]]], [], [[at, None]], [[at, None]], [[at + 32, None]], []]


def test_of_many_tensors_the_largest_are_told(program: Program) -> None:
    found = program.run(
        """
malloc(0x100000, 0x1000000)
for n in range(3000): created(0x100000 + 0x1000 * n, 512 + n)
print(json.dumps(describe()["allocations"]))
"""
    )
    sizes = [allocation["size"] for allocation in found[1:]]
    assert sizes == list(range(512 + 3000 - len(sizes), 512 + 3000))
    assert 1000 < len(sizes) < 2048
