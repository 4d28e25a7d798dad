"""Reading counters with ncu, here one that prints what was recorded."""

from __future__ import annotations

import pytest

import nsight

TABLE = (
    "==PROF== Connected to process 4242 (/tmp/labels)\n"
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size",'
    '"Device","CC","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","smsp__inst_executed.sum"\n'
    '"","","","","","","","","","","","",""\n'
    '"0","4242","labels","host","labels(float *, float *, int)","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0",'
    '"1,536","28,672"\n'
    '"1","4242","labels","host","void twice<int>(T1 *)","1","7","(32, 2, 1)","(1, 2, 3)","0","9.0",'
    '"n/a","12"\n'
    "==PROF== Disconnected from process 4242\n"
)
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"


@pytest.fixture
def ncu(tmp_path, monkeypatch):
    """Put an ncu on PATH that writes ``log`` to its log file, prints ``said`` and ends with ``status``."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=":")

    def make(log, status=0, said="", wait=0):
        (tmp_path / "recorded").write_text(log)
        (folder / "ncu").write_text(
            f'#!/bin/sh\necho "$LC_ALL $*" > {tmp_path}/called\n'
            'while [ "$1" != --log-file ]; do shift; done\n'
            f'cp {tmp_path}/recorded "$2"\necho "{said}"\nsleep {wait}\nexit {status}\n'
        )
        (folder / "ncu").chmod(0o755)
        return tmp_path / "called"

    return make


def test_launches_come_with_shape_and_counters_in_order():
    first, second = nsight.parse(TABLE)
    assert (first.kernel, first.grid, first.block) == (
        "labels(float *, float *, int)",
        (64, 1, 1),
        (128, 1, 1),
    )
    assert first.counters == {REQUESTS: 1536, "smsp__inst_executed.sum": 28672}
    assert (second.grid, second.block) == ((1, 2, 3), (32, 2, 1))
    assert second.counters == {"smsp__inst_executed.sum": 12}, "what was not read is missing"


def test_ncu_is_asked_for_the_metrics_of_the_command_alone(ncu):
    called = ncu(TABLE, said="results")
    assert len(nsight.count(["./labels", "64"], [REQUESTS, "a.sum"], options=["--launch-count", "2"])) == 2
    line = called.read_text()
    assert line.startswith("C "), "numbers are those of the C locale"
    assert " --cache-control none " in line
    assert line.endswith(f"--metrics {REQUESTS},a.sum --launch-count 2 ./labels 64\n")
    assert "--clock-control none" in line


def test_caches_are_emptied_where_that_is_asked_for(ncu):
    called = ncu(TABLE)
    nsight.count(["./labels"], [REQUESTS], cold=True)
    assert " --cache-control all " in called.read_text()


@pytest.mark.parametrize(
    ("log", "status", "said", "sentence"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", 1, "", "may not read the GPU's"),
        ("==ERROR== Failed to find metric regex:^bad.sum$", 1, "", "knows no metric regex:^bad.sum"),
        (
            TABLE + "==ERROR== The application returned an error code (3).\n",
            3,
            "no input file",
            "./labels ended with status 3 under ncu: no input file",
        ),
        (
            "==WARNING== No kernels were profiled.\n",
            0,
            "",
            "profiled no launch of ./labels: No kernels were profiled.",
        ),
        ("", 9, "", "failed on ./labels: it printed nothing."),
    ],
)
def test_each_failure_is_one_sentence(ncu, log, status, said, sentence):
    ncu(log, status, said)
    with pytest.raises(nsight.NsightError) as raised:
        nsight.count(["./labels"], [REQUESTS])
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_takes_too_long_is_killed(ncu):
    ncu(TABLE, wait=60)
    with pytest.raises(nsight.NsightError, match=r"still ran after 0.5 s"):
        nsight.count(["./labels"], [REQUESTS], timeout=0.5)


def test_missing_ncu_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(nsight.NsightError, match="no ncu on PATH"):
        nsight.count(["./labels"], [REQUESTS])
