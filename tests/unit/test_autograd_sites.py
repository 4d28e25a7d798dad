"""What a backward pass of PyTorch does is told by the call in the forward pass, where that is sure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from stand_ins import Program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# `within` calls something with a function of PyTorch on the stack, `engine` in a thread of the backward pass.
START = """
driver.stand_in_graph.argtypes = [ctypes.c_uint64, ctypes.c_int]
monitor.cuvein_node_running.argtypes = [ctypes.c_uint64, ctypes.c_char_p]
monitor.cuvein_gradient_created.argtypes = monitor.cuvein_tensor_named.argtypes
monitor.cuvein_follow_autograd(os.environ["STAND_IN"].encode())
monitor.cuvein_name_operators(b"aten::add.Tensor\\naten::_softmax")
malloc(0x100000, 0x1000000)
graph, node = driver.stand_in_graph, monitor.cuvein_node_running
forward, other, backward = driver.stand_in_softmax, driver.stand_in_forward, driver.stand_in_backward
def within(function, do):
    result = []
    function(ctypes.CFUNCTYPE(None)(lambda: result.append(do())))
    return result[0]
def engine(do):
    thread = threading.Thread(target=do); thread.start(); thread.join()
def expect(address, size, *shape):
    numbers = (ctypes.c_int64 * len(shape))(*shape)
    monitor.cuvein_gradient_created(address, size, b"float32", numbers, len(shape))
result = []
"""


@pytest.fixture
def run(tmp_path: Path, stand_in: Path) -> Callable[[str], Any]:
    program = Program(tmp_path, stand_in)
    return lambda text: program.run(START + text + "print(json.dumps(result))\n")


def forward_of(found: dict[str, Any], site: int | None = None) -> list[str] | None:
    """Give the functions of the forward call's frames."""
    other = found["sites"][found["site"] if site is None else site].get("forward")
    return None if other is None else [frame["function"] for frame in found["sites"][other]["python"]]


FORWARD = """
def model():
    graph(4, -1)                    # the operator's node has number 3
    within(forward, lambda: created(0x100000, 64))
model()
"""


def test_launches_and_memory_of_a_node_belong_to_the_call_that_made_it(run: Callable[[str], Any]) -> None:
    (found,) = run(
        FORWARD
        + """
def work():
    graph(0, 7); node(3, b"SoftmaxBackward0")
    within(backward, lambda: created(0x200000, 64))
    result.append(within(backward, describe))
engine(work)
"""
    )
    functions = forward_of(found)
    assert functions is not None
    assert "model" in functions
    (made,) = (each["site"] for each in found["allocations"] if each["address"] == 0x200000)
    assert forward_of(found, made) == functions
    own = next(site for site in found["sites"] if site.get("forward") is not None)
    assert own["operators"] == ["SoftmaxBackward0", "aten::_softmax"]


@pytest.mark.parametrize(
    ("forward", "work"),
    [
        pytest.param("other", "", id="another operator ran when that number was the newest"),
        pytest.param("forward", "graph(0, -1)", id="no backward pass"),
        pytest.param("forward", "node(2, b'SoftmaxBackward0')", id="another node"),
        pytest.param("forward", "node(3, b'AddBackward0')", id="a node of another kind"),
    ],
)
def test_where_it_is_not_sure_nothing_is_told(forward: str, work: str, run: Callable[[str], Any]) -> None:
    (found,) = run(
        FORWARD.replace("forward", forward)
        + f"""
def work():
    graph(0, 7); node(3, b"SoftmaxBackward0")
    {work}
    within(backward, lambda: created(0x200000, 64))
    result.append(within(backward, describe))
engine(work)
"""
    )
    assert not any("forward" in site for site in found["sites"])


def test_of_threads_that_made_the_same_number_neither_is_taken(run: Callable[[str], Any]) -> None:
    (found,) = run(
        FORWARD
        + """
engine(model)
def work():
    graph(0, 7); node(3, b"SoftmaxBackward0")
    within(backward, lambda: created(0x200000, 64))
    result.append(within(backward, describe))
engine(work)
"""
    )
    assert forward_of(found) is None


def test_the_engines_own_launches_belong_to_the_node_that_asked_for_their_memory(
    run: Callable[[str], Any],
) -> None:
    found = run(
        FORWARD
        + """
def work():
    graph(0, 7); node(3, b"SoftmaxBackward0")
    within(other, lambda: created(0x200000, 64))        # the engine adds up what the node returned
    result.append(within(other, describe))
    result.append(within(other, describe))              # perhaps after another node
engine(work)
"""
    )
    first, second = (forward_of(each) for each in found)
    assert first is not None
    assert "model" in first
    assert second is None


def test_the_start_of_a_pass_is_told_for_all_it_does(run: Callable[[str], Any]) -> None:
    inside, after = run(
        """
monitor.cuvein_pass_started.argtypes = [ctypes.c_int64, ctypes.c_uint] + [ctypes.c_void_p] * 3
def texts(*words): return ctypes.cast((ctypes.c_char_p * len(words))(*words), ctypes.c_void_p)
def work():
    graph(0, 7)
    monitor.cuvein_pass_started(7, 1, texts(b"/me/train.py"), texts(b"step"), (ctypes.c_int * 1)(52))
    result.append(within(backward, describe))
    graph(0, 8); result.append(within(backward, describe))
engine(work)
"""
    )
    caller = inside["sites"][inside["sites"][inside["site"]]["caller"]]
    assert caller["python"] == [{"file": "/me/train.py", "line": 52, "function": "step"}]
    assert "caller" not in after["sites"][after["site"]]


def test_what_outlives_its_node_is_the_gradient_it_hands_on(run: Callable[[str], Any]) -> None:
    found = run(
        """
def shapes(found): return [[each["address"], each.get("shape")] for each in found["allocations"][1:]]
def make(address):
    created(address, 64); expect(address, 64, 4, 4)
def work():
    graph(0, 7); node(3, b"SoftmaxBackward0")
    within(backward, lambda: make(0x200000))
    within(backward, lambda: make(0x300000))
    within(backward, lambda: destroyed(0x200000))       # an intermediate result
    within(backward, lambda: created(0x200000, 64))     # something else
    result.append(shapes(within(backward, describe)))   # the node still runs
    node(2, b"AddBackward0")
    result.append(shapes(describe()))
engine(work)
"""
    )
    assert found == [
        [[0x200000, None], [0x300000, None]],
        [[0x200000, None], [0x300000, [4, 4]]],
    ]


# Making memory and giving it back are one line of Python, as what an operator does is.
TEMPORARY = """
C = ctypes.CFUNCTYPE(None)
def nested(first, then): driver.stand_in_nested(C(first), C(then))
def do(make): created(0x200000, 64) if make else (describe(), destroyed(0x200000)); return None
"""


@pytest.mark.parametrize(
    ("work", "name"),
    [
        pytest.param("within(forward, lambda: (do(1), do(0)))", "temporary of aten::_softmax", id="it ran"),
        pytest.param(
            "nested(lambda: do(1), lambda: do(0))", "temporary of aten::add.Tensor", id="one around it ran"
        ),
        pytest.param("within(forward, lambda: do(1)); do(0)", None, id="it had returned"),
        pytest.param(
            "within(forward, lambda: do(1))\nwithin(forward, lambda: do(0))",
            None,
            id="another line called it",
        ),
        pytest.param(
            "within(forward, lambda: (do(1), named(0x200000, 64, 4, 4), do(0)))",
            None,
            id="its shape is known",
        ),
    ],
)
def test_what_is_given_back_while_its_operator_runs_is_a_temporary(
    work: str, name: str | None, run: Callable[[str], Any]
) -> None:
    (found,) = run(f"{TEMPORARY}{work}\nresult.append(describe(again=True))\n")
    (tensor,) = (each for each in found["allocations"] if each["address"] == 0x200000)
    assert tensor["name"] == name
    assert tensor.get("shape") == ([4, 4] if "named" in work else None)


def test_calls_are_right_however_the_stack_changes(run: Callable[[str], Any]) -> None:
    """A walk up the stack ends where it meets what the walk before has met."""
    found = run(
        """
import random
chance = random.Random(7)
ways = {"aten::_softmax": forward, "aten::add.Tensor": other}
def site():
    found = describe()
    return found["sites"][found["site"]]
def go(names, depth):
    once, again = [site() for _ in range(2)]
    result.append([names, once["operators"], once["native"] == again["native"]])
    if depth: [call(names, depth) for _ in range(3)]
def call(names, depth):
    name = chance.choice(list(ways))
    within(ways[name], lambda: go([*names, name], depth - 1))
go([], 4)
"""
    )
    assert len(found) == 1 + 3 + 9 + 27 + 81
    for names, operators, same in found:
        assert operators == [
            name for name, outer in zip(names, [None, *names], strict=False) if name != outer
        ]
        assert same
