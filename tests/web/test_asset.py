"""The committed page is what its sources build."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cuvein.report import view_schema

ROOT = Path(__file__).parents[2]
ASSET = ROOT / "src/cuvein/report/assets/report.html"
WHAT_TO_DO = "run 'make web' and commit src/cuvein/report/assets/report.html"


def test_committed_page_is_what_the_sources_build(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("the page is built with Node, which is not installed")
    sources = tmp_path / "web"
    shutil.copytree(ROOT / "web", sources, ignore=shutil.ignore_patterns("node_modules"))
    installed = ROOT / "web/node_modules"
    if (installed / ".package-lock.json").exists():
        (sources / "node_modules").symlink_to(installed)
    else:
        got = subprocess.run(
            [npm, "ci", "--no-audit", "--no-fund"], check=False, cwd=sources, capture_output=True, text=True
        )
        if got.returncode:
            pytest.skip(f"the packages the page is built with cannot be had: {got.stderr.strip()[-300:]}")
    built = subprocess.run(
        [npm, "run", "build", "--", "--outDir", str(tmp_path)],
        check=False,
        cwd=sources,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert (tmp_path / "report.html").read_bytes() == ASSET.read_bytes(), WHAT_TO_DO


def test_committed_page_needs_nothing_from_outside() -> None:
    page = ASSET.read_text(encoding="utf-8")
    policy = page.partition('content="default-src')[2].partition('"')[0]
    assert policy.startswith(" 'none'; script-src 'sha256-")
    assert "http" not in policy
    assert "unsafe" not in policy
    assert page.count("<!--cuvein-data-->") == 1


def test_committed_schema_is_that_of_the_types() -> None:
    assert (ROOT / "web/src/schema.json").read_text() == view_schema.text(), WHAT_TO_DO
