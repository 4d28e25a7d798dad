"""What Nsight Compute measured, beside the findings."""

from __future__ import annotations

import sys
import types

import pytest

from cuvein.findings import analyse
from cuvein.findings.nsight_compute import NsightComputeError, read_timing
from cuvein.findings.timing import KernelTime, Timing, apply
from cuvein.profile import encode
from unit.profiles.command import command_line
from unit.profiles.maker import Maker

HEADER = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name",'
    '"Context","Stream","Block Size","Grid Size","Device","CC",'
)
WIDE = (
    "==PROF== Connected to process 1234 (/bin/app)\n"
    "the program's own output, with a comma\n"
    + HEADER
    + '"gpc__cycles_elapsed.max","gpu__time_duration.sum","smsp__pcsamp_warps_issue_stalled_long_scoreboard",'
    '"smsp__pcsamp_warps_issue_stalled_short_scoreboard","smsp__pcsamp_warps_issue_stalled_selected",'
    '"smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued","smsp__inst_executed.sum"\n'
    '"","","","","","","","","","","","cycle","usecond","warp","warp","warp","warp","inst"\n'
    '"0","1","app","h","void slow<float>(float *, int)","1","7","(128, 1, 1)","(4, 1, 1)","0","9.0",'
    '"9,000,000","900","300","100","50","7","1,000"\n'
    '"1","1","app","h","quick(float *)","1","7","(128, 1, 1)","(4, 1, 1)","0","9.0",'
    '"1,000,000","100","0","100","50","7","1,000"\n'
    '"2","1","app","h","quick(float *)","1","7","(128, 1, 1)","(4, 1, 1)","0","9.0",'
    '"1,000,000","100","0","100","50","7","1,000"\n'
    "==PROF== Disconnected\n"
)


def file(tmp_path, text, name="raw.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_raw_page_has_a_row_for_each_launch(tmp_path):
    slow, quick = read_timing(file(tmp_path, WIDE)).kernels
    assert (slow.name, slow.grid, slow.block) == ("void slow<float>(float *, int)", (4, 1, 1), (128, 1, 1))
    assert (slow.launches, slow.cycles, slow.nanoseconds) == (1, 9e6, 9e5)
    assert (quick.launches, quick.cycles, quick.nanoseconds) == (2, 2e6, 2e5)
    assert slow.stalls == {"long_scoreboard": 0.75, "short_scoreboard": 0.25}
    assert quick.counts == {"smsp__inst_executed.sum": 2000}


def test_details_page_has_a_row_for_each_metric(tmp_path):
    def row(number, metric, unit, value):
        launch = f'"{number}","1","app","h","k(int)","1","7","(32, 1, 1)","(2, 3, 1)","0","9.0"'
        return f'{launch},"S",{metric},{unit},{value}'

    rows = [
        row(0, '"Elapsed Cycles"', '"cycle"', '"1,234"'),
        row(0, '"Duration"', '"ms"', '"1.5"'),
        row(0, '""', '""', '""'),
        row(1, '"Elapsed Cycles"', '"cycle"', '"766"'),
        row(1, '"Duration"', '"us"', '"500"'),
    ]
    text = "\n".join([HEADER + '"Section Name","Metric Name","Metric Unit","Metric Value"', *rows])
    (kernel,) = read_timing(file(tmp_path, text)).kernels
    assert (kernel.launches, kernel.cycles, kernel.nanoseconds, kernel.grid) == (2, 2000, 2e6, (2, 3, 1))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1234", 1234),
        ("1,234", 1234),
        ("1,234,567", 1234567),
        ("1,234.5", 1234.5),
        ("1.234,5", 1234.5),
        ("1.234.567", 1234567),
        ("117.344", 117.344),
        ("0,5", 0.5),
        ("1e3", 1000),
    ],
)
def test_numbers_of_any_locale(tmp_path, text, value):
    content = f'"Kernel Name","gpc__cycles_elapsed.max"\n"","cycle"\n"k()","{text}"\n'
    assert read_timing(file(tmp_path, content)).kernels[0].cycles == value


@pytest.mark.parametrize("unit", ["nsecond", "ns"])
@pytest.mark.parametrize(("prefix", "factor"), [("n", 1), ("u", 1e3), ("m", 1e6), ("", 1e9)])
def test_units_of_time(tmp_path, unit, prefix, factor):
    content = f'"Kernel Name","gpu__time_duration.sum"\n"","{prefix}{unit[1:]}"\n"k()","2"\n'
    assert read_timing(file(tmp_path, content)).kernels[0].nanoseconds == 2 * factor


def test_multiples_of_cycles(tmp_path):
    content = '"Kernel Name","gpc__cycles_elapsed.max"\n"","Kcycle"\n"k()","2.5"\n'
    assert read_timing(file(tmp_path, content)).kernels[0].cycles == 2500


@pytest.mark.parametrize(
    "metric",
    [
        "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio",
        "smsp__average_warp_latency_issue_stalled_{}.ratio",
        "smsp__warp_issue_stalled_{}_per_warp_active.pct",
        "smsp__pcsamp_warps_issue_stalled_{}",
    ],
)
def test_every_family_of_stall_metrics(tmp_path, metric):
    names = ",".join(f'"{metric.format(reason)}"' for reason in ("long_scoreboard", "barrier"))
    content = f'"Kernel Name","gpc__cycles_elapsed.max",{names}\n"","cycle","",""\n"k()","1","6","2"\n'
    assert read_timing(file(tmp_path, content)).kernels[0].stalls == {
        "barrier": 0.25,
        "long_scoreboard": 0.75,
    }


def waste(name):
    maker = Maker(name)
    maker.node(sectors=32)
    maker.node("read", "shared", wavefronts=32)
    return maker


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "run"
    path.mkdir()
    for number, maker in enumerate(
        (waste("quick(float*)"), waste("slow<float>(float*, int)"), waste("other()")), 1
    ):
        (path / f"launch-{number:06}.json").write_bytes(encode(maker.profile(number)))
    return path


def test_waste_that_takes_time_ranks_above_waste_that_does_not(tmp_path, folder):
    report = analyse(folder)
    unknown = apply(report, read_timing(file(tmp_path, WIDE)))
    removals = [each for each in report.findings if each.effect.word == "removes"]
    assert [each.kernel.name for each in removals] == [
        "slow<float>(float*, int)",
        "slow<float>(float*, int)",
        "quick(float*)",
        "quick(float*)",
        "other()",
        "other()",
    ]
    # slow() waits for global memory, quick() for shared memory only.
    assert [each.pattern for each in removals[:4]] == [
        "poor-coalescing",
        "bank-conflict",
        "bank-conflict",
        "poor-coalescing",
    ]
    assert removals[0].time_share == pytest.approx(9 / 11)
    assert removals[0].stall_share == 0.75
    assert removals[3].stall_share == 0
    assert unknown == ["other()"]
    assert removals[4].time_share is None


def test_a_kernel_without_time_ranks_below_whatever_its_waste(tmp_path, folder):
    rows = (
        '"Kernel Name","gpc__cycles_elapsed.max"',
        '"","cycle"',
        '"slow(float *)","1"',
        '"quick(float*)","1000000"',
    )
    content = "\n".join(rows)
    report = analyse(folder)
    apply(report, read_timing(file(tmp_path, content)))
    removals = [each.kernel.name for each in report.findings if each.effect.word == "removes"]
    assert removals[0] == "quick(float*)"
    assert removals[2] == "slow<float>(float*, int)"


def test_the_shape_that_was_measured_counts():
    content = [("k()", (1, 1, 1), 5.0), ("k()", (4, 1, 1), 95.0)]
    timing = Timing([KernelTime(name, grid, (128, 1, 1), 1, cycles) for name, grid, cycles in content])
    (finding,) = waste("k()").findings("poor-coalescing")
    assert [each.cycles for each in timing.find(finding.kernel)] == [95.0]


@pytest.fixture
def run(monkeypatch, capsys):
    return command_line(monkeypatch, capsys)


def test_check_shows_time(tmp_path, folder, run):
    status, out, err = run("check", folder, "--ncu", file(tmp_path, WIDE))
    assert status == 1
    assert "The kernel takes 81.8 % of the measured time; 75 % of its stalls" in out
    assert "has no time for these kernels, which are ranked last: other()" in err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", 'has no column "Kernel Name"'),
        ("a,b\n1,2\n", 'has no column "Kernel Name"'),
        ('"Kernel Name","x"\n', "has no kernels"),
        ('"Kernel Name","x"\n"",""\n"k()","1"\n', "lacks gpc__cycles_elapsed.max"),
        (
            '"Kernel Name","gpc__cycles_elapsed.max"\n"","cycle"\n"k()","n/a"\n',
            "lacks gpc__cycles_elapsed.max",
        ),
        ('"Kernel Name","Metric Name"\n"k()","x"\n', "has no kernels"),
    ],
)
def test_bad_csv_is_one_sentence(folder, run, content, words, tmp_path):
    path = file(tmp_path, content)
    with pytest.raises(NsightComputeError, match=words):
        read_timing(path)
    status, _, err = run("check", folder, "--ncu", path)
    assert status == 123
    assert len(err.strip().splitlines()) == 1


def test_binary_that_is_no_text(tmp_path):
    path = tmp_path / "raw.csv"
    path.write_bytes(b"\xff\xfe\x00\x01\x80")
    with pytest.raises(NsightComputeError, match="cannot be read as text"):
        read_timing(path)


def test_report_needs_the_module_of_nsight_compute(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    with pytest.raises(NsightComputeError, match=r"extras/python.*--csv --page raw"):
        read_timing(file(tmp_path, "", "report.ncu-rep"))


class Metric:
    def __init__(self, value):
        self.value = value

    def as_double(self):
        return self.value


class Action:
    """As the documentation of ncu_report describes IAction."""

    def __init__(self):
        self.metrics = {
            "gpc__cycles_elapsed.max": 10.0,
            "gpu__time_duration.sum": 20.0,
            "launch__grid_dim_x": 4.0,
            "launch__grid_dim_y": 1.0,
            "launch__grid_dim_z": 1.0,
            "smsp__pcsamp_warps_issue_stalled_barrier": 3.0,
        }

    def name(self):
        return "k"

    def metric_names(self):
        return tuple(self.metrics)

    def metric_by_name(self, name):
        return Metric(self.metrics[name]) if name in self.metrics else None


def test_report_is_read_through_the_module(tmp_path, monkeypatch):
    module = types.SimpleNamespace(load_report=lambda path: [[Action(), Action()]])
    monkeypatch.setitem(sys.modules, "ncu_report", module)
    (kernel,) = read_timing(file(tmp_path, "", "report.ncu-rep")).kernels
    assert (kernel.launches, kernel.cycles, kernel.nanoseconds) == (2, 20, 40)
    assert kernel.grid == (4, 1, 1)
    assert kernel.block is None
    assert kernel.stalls == {"barrier": 1}


def test_report_that_is_damaged(tmp_path, monkeypatch):
    def load(path):
        raise RuntimeError("bad magic")

    monkeypatch.setitem(sys.modules, "ncu_report", types.SimpleNamespace(load_report=load))
    with pytest.raises(NsightComputeError, match="no report that ncu_report can read: bad magic"):
        read_timing(file(tmp_path, "", "report.ncu-rep"))
