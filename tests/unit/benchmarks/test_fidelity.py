"""Comparing profiles with counters, with launches that were made up."""

from __future__ import annotations

import json

import pytest

import fidelity
import golden
import machine
from counts import COUNTERS, OTHERS, QUANTITIES, add_up, of_counters, of_sums
from unit.profiles.maker import Maker


def sums(executions=16):
    maker = Maker()
    maker.cold(maker.node(executions=executions, sectors={4: executions - 1, 32: 1}))
    maker.cold(maker.node("write", executions=4, sectors=8))
    maker.cold(maker.node("write", "shared", executions=5, wavefronts=2))
    return add_up(maker.profile())


def seen(of_launch, shape=((4, 1, 1), (128, 1, 1)), **more):
    grid, block = map(list, shape)
    launch = {"kernel": "kernel<float>", "grid": grid, "block": block, "sums": of_launch}
    return {**launch, "incomplete": None, "not_analysed": {}, **more}


def counted(of_launch, shape=((4, 1, 1), (128, 1, 1)), **changed):
    """What the hardware counts of such a launch, each quantity in its first counter."""
    counters = dict.fromkeys(COUNTERS, 0.0)
    for name, value in of_sums(of_launch).items():
        counters[QUANTITIES[name].counters[0]] += changed.get(name.replace(" ", "_"), value)
    return {"grid": list(shape[0]), "block": list(shape[1]), "counters": counters}


def compare(cuvein, ncu):
    return fidelity.compare({"name": "a/b", "cuvein": cuvein, "ncu": ncu})


def test_sums_of_a_profile_are_by_space_and_type():
    quantities = of_sums(sums())
    assert quantities["global load requests"] == 16
    assert quantities["global load sectors"] == 15 * 4 + 32
    assert quantities["global store sectors"] == 4 * 8
    assert quantities["shared store instructions"] == 5
    assert quantities["shared store wavefronts"] == 10
    assert quantities["local load requests"] == 0


def test_counters_that_were_not_read_are_no_zeros():
    counters = counted(sums())["counters"]
    assert of_counters(counters) == of_sums(sums())
    del counters[QUANTITIES["global load sectors"].counters[0]]
    assert "global load sectors" not in of_counters(counters)


def test_equal_launches_agree_and_quantities_that_do_not_occur_are_left_out():
    runs = {"host": [seen(sums())] * 2, "gpu": [seen(sums())] * 2}
    (kernel,) = compare(runs, [counted(sums())] * 2)
    assert (kernel.kernel, kernel.launches, kernel.engines_differ) == ("kernel<float>", 2, 0)
    assert kernel.quantities["global load requests"] == fidelity.Quantity(32, 32)
    assert "local load requests" not in kernel.quantities
    assert not kernel.differs()


def test_a_difference_in_one_launch_is_not_averaged_away():
    counters = [counted(sums(), global_load_sectors=100), counted(sums())]
    (kernel,) = compare({"host": [seen(sums())] * 2}, counters)
    quantity = kernel.quantities["global load sectors"]
    assert (quantity.cuvein, quantity.hardware, quantity.differing) == (184, 192, 1)
    assert quantity.largest == pytest.approx(0.08)
    assert kernel.differs()
    assert "global load sectors 184 against 192" in fidelity.line("a/b", kernel)
    said = fidelity.sentences({"a/b": [kernel]})
    assert any(sentence.startswith("MISSED: global load sectors") for sentence in said)


@pytest.mark.parametrize(("wavefronts", "missed"), [(1005, False), (1020, True)])
def test_wavefronts_may_differ_by_a_hundredth(wavefronts, missed):
    assert QUANTITIES["shared store wavefronts"].tolerance == 0.01
    maker = Maker()
    maker.cold(maker.node("write", "shared", executions=1000, wavefronts=1))
    made = add_up(maker.profile())
    (kernel,) = compare({"host": [seen(made)]}, [counted(made, shared_store_wavefronts=wavefronts)])
    assert kernel.differs() is missed


def test_engines_that_do_not_agree_are_named():
    (kernel,) = compare({"host": [seen(sums())], "gpu": [seen(sums(17))]}, [counted(sums())])
    assert kernel.engines_differ == 1
    assert "engines differ in 1" in fidelity.line("a/b", kernel)


@pytest.mark.parametrize("counters", [[], [counted(sums(), ((4, 1, 1), (64, 1, 1)))]])
def test_other_launches_are_not_compared(counters):
    program = {"name": "a/b", "cuvein": {"host": [seen(sums())]}, "ncu": counters}
    assert "did not launch the same grids" in fidelity.different_launches(program)


def test_result_is_made_of_what_was_counted(tmp_path, capsys):
    good = {
        "name": "micro/b",
        "command": "b 1",
        "cuvein": {"host": [seen(sums())]},
        "ncu": [counted(sums())],
    }
    bad = {**good, "name": "rodinia/c", "ncu": []}
    raw = {"machine": {}, "seconds": 1, "failed": ["a/d: no"], "programs": [bad, good]}
    (tmp_path / "raw.json").write_text(json.dumps(raw))
    assert fidelity.judge(json.loads((tmp_path / "raw.json").read_text()), tmp_path / "x.json") == 1
    written = json.loads((tmp_path / "x.json").read_text())
    assert written["failed"][0] == "a/d: no"
    assert "rodinia/c: the runs did not launch the same grids (launches: host 1, ncu 0)" in written["failed"]
    assert written["summary"]["kernels_within_goal"] == 1
    assert written["programs"][0]["kernels"][0]["quantities"]["global load requests"]["hardware"] == 16
    assert "1 of 1 kernels" in capsys.readouterr().out


def test_programs_run_under_both_and_what_fails_does_not_stop_the_rest(tmp_path, monkeypatch, capsys):
    profile = golden.profiles("reduction")[0]
    names = [*COUNTERS, *OTHERS]
    values = dict.fromkeys(names, 0)
    for name, value in of_sums(add_up(profile)).items():
        values[QUANTITIES[name].counters[0]] += value
    launch = profile.launch
    table = [
        ["ID", "Kernel Name", "Block Size", "Grid Size", "device__attribute_display_name", *names],
        ["", "", "", "", "", *["inst"] * len(names)],
        ["0", "reduction", str(launch.block), str(launch.grid), "H200", *map(str, values.values())],
    ]
    (tmp_path / "log").write_text("\n".join(",".join(f'"{cell}"' for cell in row) for row in table) + "\n")
    (tmp_path / "ncu").write_text(
        f'#!/bin/sh\nwhile [ "$1" != --log-file ]; do shift; done\ncp {tmp_path}/log "$2"\n'
    )
    (tmp_path / "ncu").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    class Run:
        outcome = fidelity.session.Outcome(0, b"", b"")
        profiles = (profile,)

    class Failed:
        outcome = fidelity.session.Outcome(3, b"", b"no input\n")

    good = fidelity.subjects.Subject("examples/reduction", ["reduction", "16"], tmp_path)
    bad = fidelity.subjects.Subject("rodinia/bfs", ["bfs"], tmp_path)
    left_out = fidelity.subjects.SubjectError("torch: left out")
    monkeypatch.setattr(
        fidelity.session, "profile", lambda _, c, *o, **m: Failed() if c == ["bfs"] else Run()
    )
    monkeypatch.setattr(fidelity.subjects, "find", lambda *_, **__: ([good, bad], [left_out]))
    gpu = machine.device.Gpu("H200", "sm_90", "1", "13.0")
    monkeypatch.setattr(machine.device, "find", lambda: gpu)
    monkeypatch.setattr(machine.build, "nvcc", lambda: "nvcc")
    raw, output = tmp_path / "raw.json", tmp_path / "fidelity.json"
    monkeypatch.setattr("sys.argv", ["fidelity.py", "--raw", str(raw), "--output", str(output)])
    assert fidelity.main() == 1
    written = json.loads(output.read_text())
    assert written["failed"] == ["torch: left out", "rodinia/bfs: cuvein run ended with 3: no input"]
    assert written["summary"]["kernels_within_goal"] == written["summary"]["kernels"] == 1
    assert written["summary"]["engines_differ"] == 0
    monkeypatch.setattr("sys.argv", ["fidelity.py", "--again", str(raw), "--output", str(tmp_path / "again")])
    fidelity.main()
    assert json.loads((tmp_path / "again").read_text())["programs"] == written["programs"]
    assert "1 of 1 kernels" in capsys.readouterr().out
    # A result stands as it is.
    monkeypatch.setattr("sys.argv", ["fidelity.py", "--again", str(output), "--output", str(tmp_path / "2")])
    fidelity.main()
    assert json.loads((tmp_path / "2").read_text()) == written


def test_several_runs_are_taken_together():
    first = {
        "machine": {"gpu": "a", "commit": "1"},
        "seconds": 1.5,
        "failed": ["x: late", "y: no"],
        "programs": [{"name": "z"}, {"name": "x"}],
    }
    second = {
        "machine": {"gpu": "b", "commit": "2"},
        "seconds": 2,
        "failed": [],
        "programs": [{"name": "x"}],
    }
    raw = fidelity.together([first, second])
    assert (raw["machine"], raw["seconds"], raw["failed"]) == (second["machine"], 3.5, ["y: no"])
    # What was counted at another commit than the last run's says so.
    assert raw["programs"] == [{"name": "z", "commit": "1"}, {"name": "x"}]
