"""Comparing profiles with counters, with launches that were made up."""

from __future__ import annotations

import json

import pytest

import fidelity
from counts import COUNTERS, QUANTITIES, of_counters, of_profile
from nsight import Launch
from unit.profiles.maker import Maker


def profile(executions=16):
    maker = Maker("void kernel<float>(float *)")
    maker.cold(maker.node(executions=executions, sectors={4: executions - 1, 32: 1}))
    maker.cold(maker.node("write", executions=4, sectors=8))
    maker.cold(maker.node("write", "shared", executions=5, wavefronts=2))
    return maker.profile()


def launch(shape=((4, 1, 1), (128, 1, 1)), **changed):
    """What the hardware counts of that profile, each quantity in its first counter."""
    counters = dict.fromkeys(COUNTERS, 0.0)
    for name, value in of_profile(profile()).items():
        counters[QUANTITIES[name].counters[0]] += changed.get(name.replace(" ", "_"), value)
    return Launch("kernel", *shape, counters)


def test_sums_of_a_profile_are_by_space_and_type():
    sums = of_profile(profile())
    assert sums["global load requests"] == 16
    assert sums["global load sectors"] == 15 * 4 + 32
    assert sums["global store sectors"] == 4 * 8
    assert sums["shared store instructions"] == 5
    assert sums["shared store wavefronts"] == 10
    assert sums["local load requests"] == 0


def test_counters_that_were_not_read_are_no_zeros():
    counters = launch().counters
    assert of_counters(counters) == of_profile(profile())
    del counters[QUANTITIES["global load sectors"].counters[0]]
    assert "global load sectors" not in of_counters(counters)


def test_equal_launches_agree_and_quantities_that_do_not_occur_are_left_out():
    (kernel,) = fidelity.compare({"host": [profile()] * 2, "gpu": [profile()] * 2}, [launch()] * 2)
    assert (kernel.kernel, kernel.launches, kernel.engines_differ) == ("kernel<float>", 2, 0)
    assert kernel.quantities["global load requests"] == fidelity.Quantity(32, 32)
    assert "local load requests" not in kernel.quantities
    assert not kernel.differs()


def test_a_difference_in_one_launch_is_not_averaged_away():
    counted = [launch(global_load_sectors=100), launch()]
    (kernel,) = fidelity.compare({"host": [profile()] * 2}, counted)
    quantity = kernel.quantities["global load sectors"]
    assert (quantity.cuvein, quantity.hardware, quantity.differing) == (184, 192, 1)
    assert quantity.largest == pytest.approx(0.08)
    assert kernel.differs()
    assert "global load sectors 184 against 192" in fidelity.line("a/b", kernel)
    assert any(
        sentence.startswith("MISSED: global load sectors") for sentence in fidelity.judge({"a/b": [kernel]})
    )


def test_wavefronts_may_differ_by_a_hundredth():
    assert QUANTITIES["shared store wavefronts"].tolerance == 0.01
    maker = Maker()
    maker.cold(maker.node("write", "shared", executions=1000, wavefronts=1))
    made = maker.profile()
    counters = dict.fromkeys(COUNTERS, 0.0)
    for name, value in of_profile(made).items():
        counters[QUANTITIES[name].counters[0]] += value
    counter = QUANTITIES["shared store wavefronts"].counters[0]
    for wavefronts, missed in ((1005, False), (1020, True)):
        counters[counter] = wavefronts
        (kernel,) = fidelity.compare({"host": [made]}, [Launch("k", (4, 1, 1), (128, 1, 1), dict(counters))])
        assert kernel.differs() is missed


def test_engines_that_do_not_agree_are_named():
    (kernel,) = fidelity.compare({"host": [profile()], "gpu": [profile(17)]}, [launch()])
    assert kernel.engines_differ == 1
    assert "engines differ in 1" in fidelity.line("a/b", kernel)


@pytest.mark.parametrize("counted", [[], [launch(((4, 1, 1), (64, 1, 1)))]])
def test_other_launches_are_not_compared(counted):
    with pytest.raises(fidelity.FidelityError, match="did not launch the same grids"):
        fidelity.compare({"host": [profile()]}, counted)


def test_result_is_written_with_what_was_compared(tmp_path):
    compared = {"a/b": fidelity.compare({"host": [profile()]}, [launch()])}
    subject = fidelity.subjects.Subject("a/b", ["/tmp/b", "1"], tmp_path)
    fidelity.write(
        tmp_path / "x.json", {"seconds": 1}, [subject], compared, [fidelity.FidelityError("c: no")]
    )
    written = json.loads((tmp_path / "x.json").read_text())
    assert written["failed"] == ["c: no"]
    assert written["summary"]["kernels_within_goal"] == 1
    assert written["programs"][0]["kernels"][0]["quantities"]["global load requests"]["hardware"] == 16
