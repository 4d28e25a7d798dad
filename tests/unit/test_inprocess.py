"""The Python side in the program, with what stands in for PyTorch, CuPy and the driver."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cuvein.collect import environment, installation
from stand_ins import MODULES, Program

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = str(installation.python_path())


def tensors(found: dict[str, Any]) -> list[tuple[int, int, str | None, list[int] | None]]:
    return [
        (entry["address"], entry["size"], entry.get("dtype"), entry.get("shape"))
        for entry in found["allocations"]
        if entry["kind"] == "tensor"
    ]


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory, stand_in: Path) -> Path:
    """Give the stand-ins, with the libraries of PyTorch in their place."""
    folder = tmp_path_factory.mktemp("modules") / "modules"
    shutil.copytree(MODULES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    libraries = folder / "torch" / "lib"
    libraries.mkdir()
    for name in ("libc10.so", "libtorch_cpu.so"):
        (libraries / name).symlink_to(stand_in)
    return folder


@pytest.fixture
def run(program: Program, modules: Path) -> Callable[[str], Any]:
    def run(text: str) -> Any:
        start = "malloc(0x100000, 0x1000000)\n"
        return program.run(start + text, PYTHONPATH=os.pathsep.join([HERE, str(modules)]))

    return run


# --- what the program sees ---------------------------------------------------------------------------------


def test_launcher_puts_the_folder_first_and_only_when_asked() -> None:
    base = {b"PYTHONPATH": b"/a:/b", b"X": b"y"}
    made = environment.prepare(base, Path("/m.so"), Path("/c"), 1, python_path=Path("/p"))
    assert made[b"PYTHONPATH"] == b"/p:/a:/b"
    made = environment.prepare({}, Path("/m.so"), Path("/c"), 1, python_path=Path("/p"))
    assert made[b"PYTHONPATH"] == b"/p"
    assert environment.prepare(base, Path("/m.so"), Path("/c"), 1)[b"PYTHONPATH"] == b"/a:/b"
    assert b"PYTHONPATH" not in environment.prepare({}, Path("/m.so"), Path("/c"), 1)


@pytest.mark.parametrize("own", ["", "/nowhere", "/nowhere:/elsewhere"])
def test_path_and_environment_are_as_without(own: str, program: Program) -> None:
    text = (
        "import os, subprocess, sys\n"
        "print(sys.path, os.environ.get('PYTHONPATH'), 'sitecustomize' in sys.modules)\n"
        "print(subprocess.run(['printenv', 'PYTHONPATH'], capture_output=True).stdout)\n"
        "print([name for name in sys.path_importer_cache if 'inprocess/path' in name])\n"
    )
    environment = {"PYTHONPATH": own} if own else {}
    without = program.output(text, **environment)
    assert program.output(text, PYTHONPATH=os.pathsep.join([HERE, own] if own else [HERE])) == without


def test_sitecustomize_of_the_program_runs_as_its_own(program: Program) -> None:
    folder = program.folder / "own"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import sys\nprint('own', __name__, __file__)\nvalue = 7\n")
    text = "import sitecustomize\nprint(sitecustomize.value, sitecustomize.__spec__.name)\n"
    without = program.output(text, PYTHONPATH=str(folder))
    assert program.output(text, PYTHONPATH=f"{HERE}:{folder}") == without
    assert without == f"own sitecustomize {folder}/sitecustomize.py\n7 sitecustomize\n"


def test_sitecustomize_that_fails_fails_as_without(program: Program) -> None:
    folder = program.folder / "own"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import not_there\n")
    text = "import sys\nprint('sitecustomize' in sys.modules)\n"
    with pytest.raises(AssertionError) as without:
        program.output(text, PYTHONPATH=str(folder))
    with pytest.raises(AssertionError) as found:
        program.output(text, PYTHONPATH=f"{HERE}:{folder}")
    assert str(found.value).splitlines()[:2] == str(without.value).splitlines()[:2]


def test_nothing_is_imported_in_a_program_without_frameworks(program: Program) -> None:
    text = "import sys\nprint(sorted(sys.modules))\n"
    (without,) = program.output(text).splitlines()
    (found,) = program.output(text, PYTHONPATH=HERE).splitlines()
    more = set(eval(found)) - set(eval(without))
    assert {name for name in more if "cuvein" in name} == {"_cuvein_inprocess", "_cuvein_inprocess.imports"}
    assert not more & {"ctypes", "gc", "threading", "torch", "cupy", "numpy"}


def test_import_hook_leaves_no_trace_on_modules(run: Callable[[str], Any]) -> None:
    found = run(
        """
import cupy, torch
from numba.cuda.cudadrv import devicearray
modules = cupy, torch, devicearray
result = [[type(m.__loader__).__name__, type(m.__spec__.loader).__name__] for m in modules]
print(json.dumps([result, [type(f).__name__ for f in sys.meta_path if "_Finder" == type(f).__name__]]))
"""
    )
    assert found == [[["SourceFileLoader"] * 2] * 3, []]


def test_module_that_fails_to_import_fails_as_it_does(program: Program) -> None:
    folder = program.folder / "broken"
    folder.mkdir()
    (folder / "torch.py").write_text("raise RuntimeError('no torch today')\n")
    text = "try:\n    import torch\nexcept RuntimeError as error:\n    print(error)\n"
    assert program.output(text, PYTHONPATH=f"{HERE}:{folder}") == "no torch today\n"
    assert program.output(
        "try:\n    import cupy\nexcept ImportError as e:\n    print(e)\n", PYTHONPATH=HERE
    ) == ("No module named 'cupy'\n")


# --- PyTorch -----------------------------------------------------------------------------------------------


def test_tensors_are_told_with_shape_and_creating_line(run: Callable[[str], Any]) -> None:
    found = run(
        """
import torch
def make(): return torch.empty(3, 4)
x = make()
y = torch.nn.Parameter((7,), torch.float16, torch._Block(14))
describe()          # a launch: from now on Python looks at what was made
print(json.dumps(describe()))
"""
    )
    assert tensors(found) == [(0x100000, 48, "float32", [3, 4]), (0x101000, 14, "float16", [7])]
    first = next(entry for entry in found["allocations"] if entry["kind"] == "tensor")
    site = found["sites"][first["site"]]
    assert [frame["function"] for frame in site["python"]][-3:] == ["empty", "make", "<module>"]
    assert not any("inprocess" in frame["file"] for frame in site["python"])


def test_a_tensor_is_known_at_the_next_allocation(run: Callable[[str], Any]) -> None:
    found = run("import torch\nx = torch.empty(5)\ny = torch.empty(6)\nprint(json.dumps(describe()))\n")
    assert tensors(found) == [(0x100000, 20, "float32", [5]), (0x101000, 24, None, None)]


def test_views_do_not_name_what_they_are_views_of(run: Callable[[str], Any]) -> None:
    found = run(
        """
import torch
x = torch.empty(3, 4); same = x.view(12); part = x[0]; end = x[2]
describe(); print(json.dumps(describe()))
"""
    )
    assert tensors(found) == [(0x100000, 48, "float32", [3, 4])]


def test_a_view_is_told_as_what_it_is_a_view_of(run: Callable[[str], Any]) -> None:
    found = run(
        """
import gc, torch
def views(): return torch.empty(3, 4).view(12)     # Python keeps the view only
x = views(); describe()
print(json.dumps(describe()))
"""
    )
    assert tensors(found) == [(0x100000, 48, "float32", [3, 4])]


def test_memory_that_is_reused_does_not_keep_its_name(run: Callable[[str], Any]) -> None:
    found = run(
        """
import torch
x = torch.empty(3, 4); describe(); describe()
del x
result = [describe()]
torch._C.reuse = 0x100000
held = torch._Block(48)         # not a tensor that Python knows
describe(); result.append(describe())
print(json.dumps(result))
"""
    )
    assert [tensors(each) for each in found] == [[], [(0x100000, 48, None, None)]]


def test_a_block_whose_size_does_not_show_is_not_told(run: Callable[[str], Any]) -> None:
    found = run(
        """
import torch
x = torch.empty(4); torch._C.count += 1; torch._C.requested += 100      # another thread's
y = torch.empty(5); z = torch.empty(6)
describe(); print(json.dumps(describe()))
"""
    )
    assert tensors(found) == [(0x100000, 16, "float32", [4]), (0x103000, 24, "float32", [6])]


def test_tensors_of_other_types_run_no_code(run: Callable[[str], Any]) -> None:
    found = run(
        """
import torch
x = torch.Fake((4,), torch.float32, torch._Block(16))
describe(); print(json.dumps(describe()))
"""
    )
    assert tensors(found) == [(0x100000, 16, None, None)]


def test_collections_do_not_hide_tensors(run: Callable[[str], Any]) -> None:
    found = run(
        """
import gc, torch
describe(); describe()
x = torch.empty(4)
gc.collect(0)
describe(); print(json.dumps(describe()))
"""
    )
    assert tensors(found) == [(0x100000, 16, "float32", [4])]


def test_an_old_tensor_that_is_moved_to_other_memory_is_found(run: Callable[[str], Any]) -> None:
    found = run(
        """
import gc, time, torch
x = torch.nn.Parameter((4,), torch.float32, torch._Block(16))
for n in range(4): gc.collect()
describe(); describe()
x._block = torch._Block(16)         # as x.data = y does
time.sleep(1)                       # it takes its time between two such looks
describe(); print(json.dumps(describe()))
"""
    )
    assert tensors(found) == [(0x101000, 16, "float32", [4])]


def test_a_build_without_cuda_or_of_an_unknown_kind_is_left_alone(program: Program, modules: Path) -> None:
    text = "import torch\nprint(torch._C.active)\n"
    loaded = f"import ctypes, os\nctypes.CDLL(os.environ['STAND_IN'])\n{text}"
    path = f"{HERE}:{modules}"
    assert program.output(loaded, PYTHONPATH=path) == "True\n"
    assert program.output(loaded, PYTHONPATH=path, STAND_IN_CUDA="no") == "False\n"
    # Where exceptions could not be kept, nothing is switched on that loses them.
    assert program.output(text, PYTHONPATH=path) == "False\n"


def test_an_exception_survives_the_report_of_freed_memory(run: Callable[[str], Any]) -> None:
    found = run(
        """
driver.stand_in_activate()
import torch
fail = ctypes.PyDLL(os.environ["STAND_IN"]).stand_in_failing
fail.restype = ctypes.py_object
try:
    fail()
except KeyError as error:
    print(json.dumps(str(error)))
"""
    )
    assert found == '"the program\'s own"'


# --- PyTorch's graph ---------------------------------------------------------------------------------------

GRAPH = """
import gc, torch
gc.disable()
C, Node = torch._C, torch.Node
driver.stand_in_graph.argtypes = [ctypes.c_uint64, ctypes.c_int]
graph = driver.stand_in_graph
class Result(torch.Tensor): pass    # of an operator within another; Python knows nothing of it
"""


@pytest.mark.parametrize(
    ("change", "shape"),
    [
        pytest.param("", [6], id="saved"),
        pytest.param("C.hooks = (print, print)", None, id="while the program's functions were set"),
        pytest.param("number = 9", None, id="of another node"),
    ],
)
def test_what_an_operator_saved_is_told(
    change: str, shape: list[int] | None, run: Callable[[str], Any]
) -> None:
    found, asked = run(
        GRAPH
        + f"""
number = 4; {change}
graph(number + 1, -1)
inner = Result((6,), torch.float32, torch._Block(24))
node = Node(4, saved=inner)
graph(6, -1)
x = torch.empty(5); x.grad_fn = Node(5, node)
describe(); describe(); found = describe()
print(json.dumps([found, node.asked]))
"""
    )
    assert {entry["size"]: entry.get("shape") for entry in found["allocations"][1:]} == {24: shape, 20: [5]}
    assert asked == (0 if "hooks" in change or "number" in change else 1)


def test_a_gradient_is_told_when_its_node_is_done(run: Callable[[str], Any]) -> None:
    found = run(
        GRAPH
        + """
from torch.autograd import graph as module
result = []
def shapes():
    return [[entry["size"], entry.get("shape"), entry["name"]] for entry in describe()["allocations"][1:]]
def work():
    inputs = Node(3, shape=(2, 3)), Node(2, shape=(5,)), Node(1, shape=(1, 5))
    graph(0, 7); C.task, C.node = 7, Node(4, *inputs)
    driver.stand_in_backward(ctypes.CFUNCTYPE(None)(make))
    result.append(shapes())
def make(): blocks.extend(torch._Block(size) for size in (24, 20, 8))
blocks = []
def step(): module._engine_run_backward(work)
step()
print(json.dumps(result[0]))
"""
    )
    # Two gradients have 20 bytes, and none has 8.
    assert found == [[24, [2, 3], None], [20, None, "float32[5] or float32[1, 5]"], [8, None, None]]


def test_where_a_pass_was_started_is_told_unless_two_are_under_way(run: Callable[[str], Any]) -> None:
    alone, both = run(
        GRAPH
        + """
from torch.autograd import graph as module
result = []
def work():
    graph(0, C.task)
    blocks.append(torch._Block(24)); result.append(describe())
blocks = []
C.task = 7
def step(): module._engine_run_backward(work)
step()
C.task = 8
def more(): module._engine_run_backward(work)
thread = threading.Thread(target=lambda: module._engine_run_backward(more)); thread.start(); thread.join()
print(json.dumps(result))
"""
    )
    caller = alone["sites"][alone["sites"][alone["site"]]["caller"]]
    assert [frame["function"] for frame in caller["python"]][:2] == ["_engine_run_backward", "step"]
    assert "caller" not in both["sites"][both["site"]]


# --- CuPy --------------------------------------------------------------------------------------------------


def test_arrays_of_cupy_are_told(run: Callable[[str], Any]) -> None:
    found = run(
        """
import cupy
x = cupy.empty(3, 4); part = x.view(12)
describe(); print(json.dumps(describe()))
"""
    )
    assert tensors(found) == [(0x100000, 48, "float32", [3, 4])]


def test_an_array_that_only_a_kernel_is_called_with_is_told(run: Callable[[str], Any]) -> None:
    found = run(
        """
import cupy
def kernel(array):
    result.append(describe())           # no one looks until it has returned
result = []
kernel(cupy.empty(3, 4))
print(json.dumps(result[0]))
"""
    )
    assert tensors(found) == [(0x100000, 48, "float32", [3, 4])]


def test_an_array_that_another_thread_frees_is_forgotten(run: Callable[[str], Any]) -> None:
    found = run(
        """
import cupy
x = cupy.empty(3, 4); describe(); describe()
cupy._Memory.hooked = False         # hooks are of a thread
del x
print(json.dumps(describe()))
"""
    )
    assert tensors(found) == []


# --- Numba -------------------------------------------------------------------------------------------------


def test_arrays_of_numba_name_the_allocation_that_they_fill(run: Callable[[str], Any]) -> None:
    found = run(
        """
from numba.cuda.cudadrv.devicearray import DeviceNDArray
malloc(0x2000000, 48); malloc(0x3000000, 4096)
x = DeviceNDArray((3, 4), 0x2000000); part = DeviceNDArray((2, 2), 0x3000000)
describe(); print(json.dumps(describe()))
"""
    )
    shapes = {entry["address"]: (entry["kind"], entry.get("shape")) for entry in found["allocations"]}
    assert shapes == {
        0x100000: ("device", None),
        0x2000000: ("device", [3, 4]),
        0x3000000: ("device", None),
    }
