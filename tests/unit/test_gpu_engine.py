"""The GPU engine without a GPU: its device code, emulated on the processor, against the host engine.

The program draws random launches (mixed widths, broadcasts, asynchronous copies of differing sizes, matrix
accesses, barriers, early exits, allocations that come into being) and demands graphs equal in every number.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EMULATION = ROOT / "tests" / "emulation"
NATIVE = ROOT / "native"


def compiled(folder: Path, source: str, *others: Path, defines: tuple[str, ...] = ()) -> str:
    """A program of the emulation."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler (c++) to compile the emulation with")
    program = folder / "program"
    command = [compiler, "-std=c++17", "-O1", "-Wno-unknown-pragmas", "-DCUVEIN_EMULATED", "-pthread"]
    command += [f"-D{define}" for define in defines]
    includes = [f"-I{path}" for path in (EMULATION, NATIVE, folder)]
    done = subprocess.run(
        [*command, *includes, EMULATION / source, *others, "-o", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return str(program)


def generated(folder: Path) -> None:
    """The header that is made from the vocabulary."""
    generator = NATIVE / "model" / "generate_vocabulary.py"
    vocabulary = ROOT / "src" / "cuvein" / "vocabulary.py"
    subprocess.run([sys.executable, generator, vocabulary, folder / "model" / "vocabulary.h"], check=True)


def comparing(folder: Path, *defines: str) -> str:
    """The comparing program, compiled."""
    generated(folder)
    return compiled(folder, "compare_engines.cpp", *NATIVE.glob("analyzer/*.cpp"), defines=defines)


@pytest.fixture(scope="module")
def compare_engines(tmp_path_factory: pytest.TempPathFactory) -> str:
    """With the patches that follow what barriers order, in some launches."""
    return comparing(tmp_path_factory.mktemp("emulation"), "CUVEIN_ORDER")


@pytest.fixture(scope="module")
def compare_without_order(tmp_path_factory: pytest.TempPathFactory) -> str:
    return comparing(tmp_path_factory.mktemp("emulation"))


def agree(program: str, first_seed: int) -> None:
    launches = 70  # more than there are generations, so that the shadow is cleared once
    done = subprocess.run(
        [program, str(first_seed), str(launches)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"{launches} launches agree\n"), done.stdout + done.stderr


@pytest.mark.parametrize("first_seed", [1, 1001, 2001])
def test_emulated_gpu_engine_agrees_with_the_host_engine(compare_engines: str, first_seed: int) -> None:
    agree(compare_engines, first_seed)


def test_patches_that_do_not_follow_barriers_agree_too(compare_without_order: str) -> None:
    agree(compare_without_order, 4001)


def test_counts_that_find_no_place_in_the_tables_are_not_lost(tmp_path: Path) -> None:
    program = comparing(tmp_path, "CUVEIN_COUNTERS_BITS=3", "CUVEIN_OVERFLOW_BITS=6", "CUVEIN_WAYS_BITS=5")
    done = subprocess.run([program, "3001", "60"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "60 launches agree\n"), done.stderr


def test_blocks_that_share_a_count_of_ended_threads_end_the_launch(tmp_path: Path) -> None:
    program = comparing(tmp_path, "CUVEIN_ENDED_BLOCKS=2")
    done = subprocess.run([program, "6001", "60"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "60 launches agree\n"), done.stderr


def test_ends_of_blocks_that_are_counted_in_parts_end_the_launch(tmp_path: Path) -> None:
    program = comparing(tmp_path, "CUVEIN_ENDED_PARTS=2", "CUVEIN_FEW_BLOCKS=2", "CUVEIN_ENDED_BLOCKS=4")
    done = subprocess.run([program, "6001", "60"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "60 launches agree\n"), done.stderr


def test_sites_that_make_way_for_others_lose_nothing(tmp_path: Path) -> None:
    program = comparing(tmp_path, "CUVEIN_SITES=64")
    done = subprocess.run([program, "5001", "150"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "150 launches agree\n"), done.stdout + done.stderr


def test_comparison_notices_what_differs(compare_engines: str) -> None:
    done = subprocess.run([compare_engines, "1", "5", "--spoil"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "differs" in done.stdout


def test_families_of_launches_have_numbers_of_their_own(tmp_path: Path) -> None:
    generated(tmp_path)
    program = compiled(tmp_path, "launch_families.cpp", NATIVE / "monitor" / "gpu_families.cpp")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "families are told apart\n"), done.stdout


def test_access_sizes_are_read_from_machine_code(tmp_path: Path) -> None:
    program = compiled(tmp_path, "read_code.cpp", NATIVE / "monitor" / "gpu_code.cpp")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "machine code is read\n"), done.stdout
