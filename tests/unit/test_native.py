"""The native library through its Python layer: the engine, replays, and what goes wrong in them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from cuvein import __version__, native
from cuvein.native import (
    DamagedError,
    Engine,
    ForeignError,
    InvalidError,
    SystemRefusedError,
    check_regex,
    replay,
    version,
)
from cuvein.profile import LaunchProfile, decode, violations
from cuvein.profile.model import Function, Launch
from cuvein.trace import Recorder, TraceWriter, make_launch, make_process, write
from cuvein.vocabulary import AccessType, Instruction, Space

if TYPE_CHECKING:
    from types import FrameType

BASE = 0x7F1234560000
PROCESS = msgspec.json.encode(make_process("here-1"))


def json(launch: Launch) -> bytes:
    return msgspec.json.encode(launch)


def small(launch: int = 1, *, ended: bool = True) -> Recorder:
    """A write of 32 words and a read of the neighbours'."""
    recorder = Recorder(launch)
    recorder.affine(0x10, BASE, stride=4, size=4, type=AccessType.WRITE)
    recorder.affine(0x20, BASE + 4, stride=4, size=4)
    recorder.thread_exit()
    if ended:
        recorder.launch_end()
    return recorder


def profile_of(recorder: Recorder, launch: Launch, *, incomplete: str | None = None) -> LaunchProfile:
    with Engine(PROCESS, workers=1) as engine:
        engine.begin(json(launch))
        engine.consume(recorder.data)
        profile = decode(engine.end(launch.sequence, incomplete))
    assert violations(profile) == []
    return profile


def replayed(path: Path, workers: int = 1) -> list[LaunchProfile]:
    profiles: list[LaunchProfile] = []
    replay(path, lambda data: profiles.append(decode(data)), workers=workers)
    return profiles


def test_the_library_is_of_the_package_s_version() -> None:
    assert version() == __version__


def test_the_engine_makes_a_profile_of_the_published_format() -> None:
    launch = make_launch(3, allocations=[(BASE - 4096, 64), (BASE, 4096)])
    profile = profile_of(small(3), launch)
    assert profile.id == "here-1-3"
    assert profile.engine == "host"
    assert profile.incomplete is None
    assert profile.process == make_process("here-1")
    assert [(node.pc, node.type, node.bytes) for node in profile.nodes] == [
        (0x10, "write", 128),
        (0x20, "read", 128),
    ]
    labels = {(edge.node, edge.origin, edge.label): edge.bytes for edge in profile.edges}
    assert labels == {(0, None, "cold"): 128, (1, None, "cold"): 4, (1, 0, "warp_diff_inst"): 124}


def test_only_what_the_graph_refers_to_is_kept_of_the_tables() -> None:
    functions = [
        Function(name="before", mangled="before", offset=-0x1000, size=0x100),
        Function(name="unused", mangled="unused", offset=0x20000, size=0x100),
        Function(name="after", mangled="after", offset=0x30000, size=0x100),
    ]
    allocations = [(BASE - 0x100000, 64), (BASE, 64), (BASE + 0x100000, 64), (BASE + 0x200000, 64)]
    launch = make_launch(functions=functions, allocations=allocations)
    recorder = Recorder()
    recorder.affine(0x30010, BASE + 0x200000, stride=0, size=4)
    recorder.affine(0x30021, BASE, stride=0, size=4)
    recorder.affine(-0x1000, BASE + 0x900000, stride=0, size=4)
    recorder.affine(0x20100, BASE, stride=0, size=4)
    recorder.affine(-0x10, BASE, stride=0, size=4)
    recorder.launch_end()
    profile = profile_of(recorder, launch)
    assert [function.name for function in profile.launch.functions] == ["kernel", "before", "after"]
    assert [allocation.address for allocation in profile.launch.allocations] == [BASE, BASE + 0x200000]
    places = {
        (profile.launch.functions[node.function].name, node.pc): node.allocations[0].allocation
        for node in profile.nodes
    }
    # Code outside every function is the kernel's, with the offset as it was.
    assert places == {
        ("before", 0): None,
        ("kernel", -0x10): 0,
        ("kernel", 0x20100): 0,
        ("after", 0x10): 1,
        ("after", 0x21): 0,
    }
    assert profile.coverage.unknown_bytes == 128


def test_kernels_launched_by_a_kernel_are_listed_as_not_analysed() -> None:
    function = Function(
        name="__cudaCDP2LaunchDeviceV2", mangled="__cudaCDP2LaunchDeviceV2", offset=0x1000, size=0x100
    )
    recorder = Recorder()
    recorder.affine(0x10, BASE, stride=0, size=4)
    for warp in (0, 1):
        for pc in (0x1000, 0x1010):
            recorder.affine(pc, 16, warp=warp, space=Space.LOCAL, stride=0, size=4)
    recorder.launch_end()
    profile = profile_of(recorder, make_launch(functions=[function], block=(64, 1, 1)))
    assert [(kind.instruction, kind.executions) for kind in profile.coverage.not_analysed] == [
        ("device_launch", 2)
    ]


def test_coverage_counts_accesses_and_what_is_not_analysed() -> None:
    recorder = Recorder()
    for _ in range(3):
        recorder.affine(0x10, 0, stride=4, size=4, space=Space.SHARED)
    recorder.affine(0x20, 0, stride=0, size=4, space=Space.LOCAL)
    recorder.not_analysed(0x30, Instruction.WGMMA)
    recorder.not_analysed(0x30, Instruction.WGMMA)
    recorder.launch_end()
    coverage = profile_of(recorder, make_launch()).coverage
    assert coverage.accesses == {"global": 0, "shared": 3, "local": 1, "distributed_shared": 0}
    assert [(item.instruction, item.executions) for item in coverage.not_analysed] == [("wgmma", 2)]
    assert coverage.lost_records == 0


def test_a_launch_without_its_end_is_incomplete_unless_a_reason_was_given() -> None:
    assert "end of the launch was never seen" in str(profile_of(small(ended=False), make_launch()).incomplete)
    given = profile_of(small(ended=False), make_launch(), incomplete='It was "cut" short.\n')
    assert given.incomplete == 'It was "cut" short.\n'


def test_names_survive_whatever_they_hold() -> None:
    name = 'void k<"a\\b", \u03b1\U0001f600, (char)10>\n'
    profile = profile_of(small(), make_launch(name=name))
    assert profile.launch.kernel.name == name


def test_the_engine_refuses_what_makes_no_sense_and_goes_on() -> None:
    with Engine(PROCESS, workers=2) as engine:
        with pytest.raises(InvalidError, match="malformed or belong to a launch that is not open"):
            engine.consume(small().data)
        with pytest.raises(InvalidError, match="launch 1 is not open"):
            engine.end(1)
        with pytest.raises(InvalidError, match="launch document is not JSON"):
            engine.begin("{")
        engine.begin(json(make_launch()))
        with pytest.raises(InvalidError, match="launch 1 is open already"):
            engine.begin(json(make_launch()))
        with pytest.raises(InvalidError, match="malformed"):
            engine.consume(small().data + b"\x03")
        engine.consume(b"")
        engine.consume(bytearray(small().data))
        assert decode(engine.end(1)).nodes[0].bytes == 128
        with pytest.raises(InvalidError, match="launch 1 is not open"):
            engine.end(1)
    with pytest.raises(InvalidError, match="Engine is closed"):
        engine.begin(json(make_launch()))


def test_a_process_document_that_is_not_one_is_refused() -> None:
    with Engine("[]", workers=1) as engine:
        engine.begin(json(make_launch()))
        with pytest.raises(InvalidError, match="process document is not an object"):
            engine.end(1)


@pytest.mark.parametrize("workers", [0, 1, 2, 7])
def test_a_replay_gives_the_profiles_the_engine_gave(tmp_path: Path, workers: int) -> None:
    launches = [make_launch(n, allocations=[(BASE, 4096)]) for n in (1, 2, 5)]
    path = tmp_path / "t"
    write(path, [(launch, small(launch.sequence)) for launch in launches], process=make_process("here-1"))
    assert replayed(path, workers) == [profile_of(small(launch.sequence), launch) for launch in launches]


def test_a_replay_tells_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path, [(make_launch(), small())])
    seen: list[tuple[int, int]] = []
    replay(path, lambda _: None, on_progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


def test_what_a_callback_raises_ends_the_replay_and_comes_through(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path, [(make_launch(n), small(n)) for n in (1, 2, 3)])
    seen: list[bytes] = []

    def stop(data: bytes) -> None:
        seen.append(data)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay(path, stop)
    assert len(seen) == 1

    def bad(_done: int, _total: int) -> None:
        raise ValueError("from the callback")

    with pytest.raises(ValueError, match="from the callback"):
        replay(path, seen.append, on_progress=bad)


@pytest.mark.parametrize("callback", ["progress", "profile"])
def test_an_interrupt_before_a_callback_s_first_line_is_not_lost(tmp_path: Path, callback: str) -> None:
    path = tmp_path / "t"
    write(path, [(make_launch(n), small(n)) for n in (1, 2, 3)])
    seen: list[bytes] = []

    def interrupt(frame: FrameType, event: str, _: object) -> None:
        if (
            event == "call"
            and frame.f_code.co_name == callback
            and frame.f_code.co_filename == native.__file__
        ):
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    sys.settrace(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            replay(path, seen.append, on_progress=lambda _done, _total: None)
    finally:
        sys.settrace(None)
    assert len(seen) <= 1
    assert signal.getsignal(signal.SIGINT) is before


def test_launches_cut_off_by_damage_are_delivered_as_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "t"
    with TraceWriter(path, PROCESS) as writer:
        for sequence in (1, 2, 3):
            writer.begin(json(make_launch(sequence)))
            writer.records(small(sequence).data)
        writer.end(2)
        writer.flush()
        size = path.stat().st_size
        writer.end(1, "was disturbed")
    whole = replayed(path)
    assert [(profile.launch.sequence, profile.incomplete) for profile in whole] == [
        (2, None),
        (1, "was disturbed"),
        (3, "The trace ends before this launch does."),
    ]
    path.write_bytes(path.read_bytes()[: size + 7])
    profiles: list[LaunchProfile] = []
    with pytest.raises(DamagedError, match=f"byte {size}") as problem:
        replay(path, lambda data: profiles.append(decode(data)))
    assert [profile.launch.sequence for profile in profiles] == [2, 1, 3]
    assert [profile.incomplete for profile in profiles] == [
        None,
        f"The trace breaks off: {problem.value}.",
        f"The trace breaks off: {problem.value}.",
    ]
    assert [profile.nodes for profile in profiles] == [profile.nodes for profile in whole]


def test_a_replay_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("not a trace")
    with pytest.raises(ForeignError):
        replayed(path)
    with pytest.raises(SystemRefusedError):
        replayed(tmp_path / "nothere")
    with pytest.raises(InvalidError, match="zero byte"):
        replayed(Path("a\0b"))


@pytest.mark.parametrize("expression", ["", "gemm", "^void k<(float|half)>.*$", r"a\d{2,3}", "[[:alpha:]]+"])
def test_kernel_selection_takes_ecmascript(expression: str) -> None:
    check_regex(expression)


@pytest.mark.parametrize("expression", ["(", "[a", "a{2", "*", "(" * 5000, "a{100000}{100000}"])
def test_other_expressions_are_refused_with_the_reason(expression: str) -> None:
    with pytest.raises(InvalidError, match="regular expression"):
        check_regex(expression)


_WITH_LITTLE_MEMORY = """
import resource, sys
from cuvein.native import SystemRefusedError, replay

path, room, workers = sys.argv[1], int(sys.argv[2]) << 20, int(sys.argv[3])
replay(path, lambda data: None, workers=workers)  # everything is loaded
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))
done = 0
def keep(data):
    global done
    done += 1
try:
    replay(path, keep, workers=workers)
    print(done)
except SystemRefusedError as error:
    print(error)
"""


@pytest.mark.parametrize("workers", [1, 3])
def test_memory_that_runs_out_is_told(workers: int, tmp_path: Path) -> None:
    """Wherever it does: the records that wait are not of launches that are gone."""
    path = tmp_path / "many.cvt"
    with TraceWriter(path, PROCESS) as writer:
        for launch in (1, 2):
            writer.begin(json(make_launch(launch)))
        # One and a half times what is analysed at a time: the rest waits when the first part fails.
        for address in range(0, 12288 << 12, 1 << 12):
            for launch in (1, 2):
                recorder = Recorder(launch)
                recorder.affine(0x10, BASE + address, stride=128, size=4)
                writer.records(recorder.data)
        for launch in (1, 2):
            writer.end(launch)
    answers = set()
    for room in (40, 150, 400, 700, 4096):
        done = subprocess.run(
            [sys.executable, "-c", _WITH_LITTLE_MEMORY, path, str(room), str(workers)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, (room, done.stderr)
        answers.add(done.stdout.strip())
    assert answers == {"2", "there is not enough memory"}


def test_a_record_that_its_launch_cannot_have_is_named(tmp_path: Path) -> None:
    path = tmp_path / "warp.cvt"
    with TraceWriter(path, PROCESS) as writer:
        writer.begin(json(make_launch()))
        recorder = Recorder()
        recorder.affine(0x30, BASE, stride=4, size=4, warp=31)
        writer.records(recorder.data)
        writer.end(1)
    with pytest.raises(DamagedError, match=r"its launch cannot have \(.*pc 0x30, block 0, warp 31"):
        replay(path, lambda data: None)
