from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stand_ins.launcher import Cuvein, build_stand_ins, with_stand_ins

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_stand_ins(tmp_path_factory.mktemp("stand-ins"))


@pytest.fixture
def cuvein(stand_ins: Path, tmp_path: Path) -> Cuvein:
    return with_stand_ins(stand_ins, tmp_path)
