"""The findings view of ``cuvein report``."""

from __future__ import annotations

import json

import pytest

from cuvein.profile import encode
from unit.profiles.command import command_line
from unit.profiles.maker import Maker


@pytest.fixture
def folder(tmp_path):
    maker = Maker("tile\x1b[31m(float *)")
    for wavefronts in (32, 16, 8):
        maker.node("read", "shared", wavefronts=wavefronts)
    (tmp_path / "launch-000001.json").write_bytes(encode(maker.profile()))
    return tmp_path


def test_findings_are_listed_in_rank_with_what_to_do(folder, monkeypatch, capsys):
    status, out, _ = command_line(monkeypatch, capsys)("report", "--by", "finding", folder)
    assert status == 0
    assert out.startswith("1 launch, 1 kernel, 3 findings (")
    ratios = [line.split("ratio ")[1] for line in out.splitlines() if "ratio " in line]
    assert ratios == ["32.00.", "16.00.", "8.00."]
    assert "A fix removes: 496 wavefronts (55.4 %) of the kernel." in out
    assert "Do: Pad the rows" in out
    assert "But: Padding breaks" in out


def test_names_cannot_send_control_characters(folder, monkeypatch, capsys):
    _, out, _ = command_line(monkeypatch, capsys)("report", "--by", "finding", folder)
    assert "\x1b" not in out
    assert "tile\ufffd[31m(float *)" in out


def test_top_limits_the_list(folder, monkeypatch, capsys):
    _, out, _ = command_line(monkeypatch, capsys)("report", "--by", "finding", "--top", 1, folder)
    assert "2 more; --top 0 shows all." in out
    assert "ratio 16.00" not in out


def test_json_has_all_findings(folder, monkeypatch, capsys):
    _, out, _ = command_line(monkeypatch, capsys)(
        "report", "--by", "finding", "--format", "json", "--top", 1, folder
    )
    document = json.loads(out)
    assert (document["format"], document["version"]) == ("cuvein findings", 1)
    assert [finding["evidence"]["conflict_ratio"] for finding in document["findings"]] == [32, 16, 8]
    assert document["kernels"][0]["launches"] == 1


def test_lines_fit_the_width(folder, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "70")
    _, out, _ = command_line(monkeypatch, capsys)("report", "--by", "finding", folder)
    assert max(map(len, out.splitlines())) <= 70
