"""The first run in the README is what the packaged recording really gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reference.commands import cuvein

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"<!-- first-run: begin -->(.*)<!-- first-run: end -->", re.DOTALL)


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first-run")
    recording = ROOT / "src" / "cuvein" / "demo" / "softmax.cvt"
    cuvein(folder, "analyze", "--output", "profiles", str(recording))
    return folder / "profiles"


def shown() -> list[str]:
    found = BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    return re.findall(r"^```\n(.*?)^```$", found[1], re.DOTALL | re.MULTILINE)


def test_the_report_is_the_one_of_the_recording(profiles: Path) -> None:
    report, _ = shown()
    assert report == cuvein(profiles, "report", str(profiles))


def test_the_finding_is_the_first_of_the_recording(profiles: Path) -> None:
    _, finding = shown()
    text = cuvein(profiles, "report", "--by", "finding", str(profiles))
    first, _ = text.split("\n\n  2  ")
    assert finding == f"{first}\n"
