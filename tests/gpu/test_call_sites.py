"""Where a CUDA program launches and asks for memory, and what of its objects a kernel touches."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import build, device, session

from cuvein.source import launched_at, traffic_of

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).parent / "kernels" / "call_sites.cu"

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, engine: str) -> session.Session:
    gpu = device.find()
    assert not isinstance(gpu, str)
    folder = tmp_path_factory.mktemp("call_sites")
    program = build.compile_one(
        SOURCE, folder / "call_sites", ROOT / "examples", gpu.architecture, "-g", "-ldl"
    )
    found = session.profile(folder / "run", [str(program)], "--call-sites", engine=engine)
    assert found.outcome.status == 0, str(found.outcome)
    return found


def line(mark: str) -> int:
    lines = SOURCE.read_text().splitlines()
    return next(number for number, text in enumerate(lines, 1) if f"// @{mark}" in text)


def test_the_launch_is_where_the_program_writes_it(run: session.Session) -> None:
    (profile,) = run.profiles
    origin = launched_at(profile.launch)
    assert origin is not None
    assert origin.place is not None
    assert (origin.place.file, origin.place.line) == (str(SOURCE), line("launched"))
    assert origin.place.function == "app::step"
    assert origin.note is None
    if b"built without NVTX" not in run.outcome.stdout:
        assert origin.ranges == ("outer", "inner")


def test_objects_are_the_variable_and_what_the_function_reserved(run: session.Session) -> None:
    (profile,) = run.profiles
    found = {traffic.object.name: traffic for traffic in traffic_of(profile)}
    variable = found.pop("app::table")
    # 64 of 256 integers, whichever of their bytes: each was read once.
    assert (variable.object.kind, variable.object.size, variable.bytes) == ("module", 1024, 256)
    assert variable.share == 0.25
    shares = []
    for traffic in found.values():
        origin = traffic.object.origin
        assert origin is not None
        assert origin.place is not None
        assert (origin.place.line, origin.place.function) == (line("reserved"), "app::reserve")
        shares.append(traffic.share)
    assert sorted(share or 0 for share in shares) == [0.5, 1.0]
