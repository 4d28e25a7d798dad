"""Fixtures of the tests that need a GPU; without one, all of them are skipped with the reason."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from harness import build, device, session, summary  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

ROOT = HERE.parents[1]


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.hasplugin("timeout"):
        config.addinivalue_line("markers", "timeout(seconds): of pytest-timeout, which is not installed")
    config.addinivalue_line("markers", "alone: measures the whole GPU; no other test runs meanwhile")
    # Workers of pytest-xdist leave the record to the first process. Without a GPU there is none.
    if hasattr(config, "workerinput"):
        return
    if (folder := os.environ.get("CUVEIN_RESULTS")) and not isinstance(device.find(), str):
        config.pluginmanager.register(summary.Summary(Path(folder)), "cuvein-summary")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    gpu = device.find()
    for item in items:
        if not item.path.is_relative_to(HERE):
            continue
        item.add_marker(pytest.mark.gpu)
        if isinstance(gpu, str):
            item.add_marker(pytest.mark.skip(reason=f"needs a GPU: {gpu}"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Keep the other workers of pytest-xdist waiting while a test needs the GPU alone."""
    folder = ROOT / "build" / "gpu"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "tests.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH)
        return (yield)


@pytest.fixture(scope="session")
def programs() -> dict[str, str]:
    """Every example and test kernel, compiled, by name."""
    gpu = device.find()
    assert not isinstance(gpu, str)
    sources = sorted((ROOT / "examples").glob("*.cu")) + sorted((HERE / "kernels").glob("*.cu"))
    names = [str(source.relative_to(ROOT)) for source in sources]
    built = build.compile_all(names, ROOT, ROOT / "build" / "gpu" / "programs", gpu.architecture)
    return {name: str(path) for name, path in built.items()}


@pytest.fixture(scope="module", params=os.environ.get("CUVEIN_ENGINES", "host gpu").split())
def engine(request: pytest.FixtureRequest) -> str:
    """What a test is to hold for: both engines."""
    return str(request.param)


@pytest.fixture(scope="session")
def plain() -> Callable[..., session.Outcome]:
    """Runs a command without cuvein, each only once."""
    outcomes: dict[tuple[str, ...], session.Outcome] = {}

    def run(*command: str) -> session.Outcome:
        if command not in outcomes:
            outcomes[command] = session.execute(list(command))
        return outcomes[command]

    return run
