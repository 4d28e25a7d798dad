from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from stand_ins import Program, build_driver

if TYPE_CHECKING:
    from pathlib import Path

# A shell that starts the tests in the background has them ignore Ctrl-C, and every program they start, too.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build what stands in for the driver."""
    return build_driver(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def program(tmp_path: Path, stand_in: Path) -> Program:
    """Return what runs programs with the monitor and the stand-in."""
    return Program(tmp_path, stand_in)


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep what is cached of modules out of the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
