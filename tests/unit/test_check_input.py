"""``cuvein check`` on bad input: one sentence and a documented status each."""

from __future__ import annotations

import io
import json
import os
import struct
import sys
from xml.etree import ElementTree as Xml

import msgspec
import pytest

from cuvein.cli.application import main
from cuvein.findings.rules import Rules, RulesError
from cuvein.profile import encode, write_process
from reference.sample import SUMMARY
from unit.profiles.command import command_line
from unit.profiles.maker import Maker
from unit.profiles.runs import kernel, write


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line as users do and return status, standard output and standard error."""
    return command_line(monkeypatch, capsys)


def one_sentence(text: str) -> str:
    lines = text.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("cuvein: error: ")
    return lines[0]


def test_empty_folder_means_nothing_was_profiled(tmp_path, run):
    status, _, err = run("check", tmp_path)
    assert status == 120
    assert "nothing was profiled" in one_sentence(err)


def test_nothing_selected_lists_the_kernels_that_were_seen(tmp_path, run):
    summary = msgspec.structs.replace(SUMMARY, profiles=0)
    (tmp_path / "process-1").mkdir()
    write_process(summary, tmp_path / "process-1" / "process.json")
    status, _, err = run("check", tmp_path)
    assert status == 120
    assert summary.kernels_seen
    assert (
        f"none of the kernels that the program launched was selected: {summary.kernels_seen[0].name}" in err
    )
    one_sentence(err)


def test_launches_left_in_a_journal_do_not_pass(tmp_path, run):
    folder = write(tmp_path, kernel())
    process = folder / "process-1"
    process.mkdir(exist_ok=True)
    write_process(SUMMARY, process / "process.json")
    assert run("check", folder, "--fail-on", "never")[0] == 0
    (process / "journal").write_bytes(struct.pack("<16sII", b"cuvein journal 1", 0, 0))
    status, out, err = run("check", folder, "--fail-on", "never")
    assert status == 121
    assert "passed" in out
    assert "another version of cuvein" in " ".join(err.split())
    (process / "journal").unlink()
    assert run("check", folder, "--fail-on", "never")[0] == 0


def test_a_comparison_without_launches_left_in_a_journal_is_incomplete(tmp_path, run):
    folder = write(tmp_path, kernel())
    assert run("diff", folder, folder)[0] == 0
    process = folder / "process-1"
    process.mkdir(exist_ok=True)
    write_process(SUMMARY, process / "process.json")
    (process / "journal").write_bytes(struct.pack("<16sII", b"cuvein journal 1", 0, 0))
    for sides in ((folder, folder / "launch-000001.json"), (folder / "launch-000001.json", folder)):
        assert run("diff", *sides)[0] == 121


def test_profiles_without_accesses_mean_nothing_was_profiled(tmp_path, run):
    status, _, err = run("check", write(tmp_path, Maker("idle()")))
    assert status == 120
    assert "the launch holds no memory access (idle())" in one_sentence(err)


def test_profiles_that_lost_all_accesses_are_incomplete(tmp_path, run):
    cut = Maker("cut()")
    cut.incomplete = "The trace breaks off."
    status, _, err = run("check", write(tmp_path, cut))
    assert status == 121
    assert "no memory access is left in the profiles of cut(): The trace breaks off." in one_sentence(err)


def test_missing_path(tmp_path, run):
    status, _, err = run("check", tmp_path / "nowhere")
    assert status == 123
    assert "does not exist" in one_sentence(err)


@pytest.mark.parametrize("option", ["--rules", "--baseline"])
def test_file_without_an_end(option, tmp_path, run):
    status, _, err = run("check", write(tmp_path, kernel()), option, "/dev/zero")
    assert status == (2 if option == "--rules" else 123)
    assert "/dev/zero cannot be read: it holds more than 67,108,864 bytes" in one_sentence(err)


def test_rules_may_come_from_a_pipe(tmp_path, run):
    reading, writing = os.pipe()
    os.write(writing, b'fail-on = ["never"]\r\n')
    os.close(writing)
    status, _, _ = run("check", write(tmp_path, kernel()), "--rules", f"/dev/fd/{reading}")
    os.close(reading)
    assert status == 0


def test_copied_profile_counts_once(tmp_path, run):
    folder = write(tmp_path, kernel())
    (folder / "launch-000001-copy.json").write_bytes((folder / "launch-000001.json").read_bytes())
    _, once, _ = run("check", folder / "launch-000001.json")
    assert run("check", folder)[1] == once


def test_truncated_profile(tmp_path, run):
    folder = write(tmp_path, kernel())
    file = folder / "launch-000001.json"
    file.write_bytes(file.read_bytes()[:-50])
    status, _, err = run("check", folder)
    assert status == 123
    assert "launch-000001.json ends in the middle" in one_sentence(err)


@pytest.mark.parametrize(
    ("version", "words"), [(99, "update cuvein"), (0, "no valid version"), ("two", "no valid version")]
)
def test_other_versions(tmp_path, run, version, words):
    folder = write(tmp_path, kernel())
    file = folder / "launch-000001.json"
    document = json.loads(file.read_text())
    document["version"] = version
    document["later"] = "field"
    file.write_text(json.dumps(document))
    status, _, err = run("check", folder)
    assert status == 123
    assert words in one_sentence(err)


@pytest.mark.parametrize("content", ['fail-on = ["high"]\n', "{", '{"format": "cuvein view", "version": 1}'])
def test_baseline_takes_the_place_of_nothing_else(tmp_path, run, content):
    file = tmp_path / "rules.toml"
    file.write_text(content)
    folder = write(tmp_path / "run", kernel())
    status, _, err = run("check", folder, "--baseline", file, "--write-baseline")
    assert status == 124
    assert "rules.toml holds something else than a baseline and was not replaced" in one_sentence(err)
    assert file.read_text() == content
    file.write_text("")
    assert run("check", folder, "--baseline", file, "--write-baseline")[0] == 0
    assert run("check", folder, "--baseline", file, "--write-baseline")[0] == 0
    assert run("check", folder, "--baseline", os.devnull, "--write-baseline")[0] == 0


def test_baseline_of_kernels_that_were_not_profiled(tmp_path, run):
    baseline = tmp_path / "baseline.json"
    run("check", write(tmp_path / "one", kernel("gone()")), "--baseline", baseline, "--write-baseline")
    status, _, err = run("check", write(tmp_path / "two", kernel("other()")), "--baseline", baseline)
    assert status == 123
    assert "names kernels that were not profiled: gone()" in one_sentence(err)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "damaged"),
        ("{}", "is not a cuvein baseline"),
        ('{"format": "cuvein baseline", "version": 9, "findings": []}', "version 9"),
        ('{"format": "cuvein baseline", "version": 1, "findings": [{"fingerprint": 1}]}', "damaged"),
        ('{"format": "cuvein baseline", "version": 1}', "damaged"),
        ('{"format": "cuvein baseline", "version": 1, "x": ' + "[" * 100_000, "damaged"),
    ],
)
def test_bad_baseline(tmp_path, run, content, words):
    baseline = tmp_path / "baseline.json"
    baseline.write_text(content)
    status, _, err = run("check", write(tmp_path / "run", kernel()), "--baseline", baseline)
    assert status == 123
    assert words in one_sentence(err)


def test_missing_baseline(tmp_path, run):
    status, _, err = run("check", write(tmp_path / "run", kernel()), "--baseline", tmp_path / "none.json")
    assert status == 123
    assert "cannot be read: no such file" in one_sentence(err)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("fail-on = 3", "is not a rules file"),
        ("fail-on = [", "is not valid TOML"),
        ('fail-on = ["loudly"]', "'loudly' is nothing to fail on"),
        ("[thresholds]\nspeed = 3", "There is no threshold 'speed'"),
        ("[thresholds]\nconflict = -1", "has to be a number that is not negative"),
        ("[threshold]\nconflict = 1", "unknown field"),
        ('[[ignore]]\nreason = "none"', "has to name a pattern or a kernel"),
        ('[[ignore]]\npattern = "streaming"', "missing required field `reason`"),
        ('[[ignore]]\nkernel = "("\nreason = "x"', "is not a regular expression"),
        ("fail-on = " + "[" * 100_000, "is not valid TOML"),
        ("[thresholds]\nconflict = " + "9" * 5000, "is not valid TOML"),
        ('[[ignore]]\nkernel = "a{99999999999}"\nreason = "x"', "is not a regular expression"),
        (f'[[ignore]]\nkernel = "{"(" * 9999}{")" * 9999}"\nreason = "x"', "is not a regular expression"),
        ('[[ignore]]\npattern = "bank"\nreason = "x"', "There is no pattern 'bank'"),
    ],
)
def test_bad_rules(tmp_path, run, content, words):
    rules = tmp_path / "rules.toml"
    rules.write_text(content)
    status, _, err = run("check", write(tmp_path / "run", kernel()), "--rules", rules)
    assert status == 2
    assert words in one_sentence(err)


@pytest.mark.parametrize("option", ["conflict", "conflict=", "conflict=two", "=2", "conflict=nan"])
def test_bad_threshold(tmp_path, run, option):
    status, _, err = run("check", write(tmp_path, kernel()), "--threshold", option)
    assert status == 2
    one_sentence(err)


def test_writing_a_baseline_needs_a_file(tmp_path, run):
    assert run("check", write(tmp_path, kernel()), "--write-baseline")[0] == 2


def test_output_that_cannot_be_written(tmp_path, run):
    status, _, err = run(
        "check", write(tmp_path / "run", kernel()), "--output", tmp_path / "none" / "out.txt"
    )
    assert status == 124
    assert "cannot be written: no such file" in one_sentence(err)


def test_incomplete_profile_cannot_pass_silently(tmp_path, run):
    maker = kernel(conflicted=False)
    folder = write(tmp_path, maker)
    profile = msgspec.structs.replace(maker.profile(), incomplete="3 records were lost.")
    (folder / "launch-000001.json").write_bytes(encode(profile))
    status, out, _ = run("check", folder)
    assert status == 121
    assert "Incomplete: 3 records were lost." in out


def test_rules_need_a_known_word():
    with pytest.raises(RulesError, match="nothing to fail on"):
        Rules(["severe"])


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit"])
def test_names_survive_an_output_without_unicode(tmp_path, monkeypatch, form):
    buffer = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(buffer, encoding="ascii"))
    monkeypatch.setattr(
        "sys.argv", ["cuvein", "check", str(write(tmp_path, kernel("größe(float *)"))), "--format", form]
    )
    with pytest.raises(SystemExit) as end:
        main()
    sys.stdout.flush()
    text = buffer.getvalue().decode("ascii")
    assert end.value.code == 1
    if form in ("json", "sarif"):
        assert "größe(float *)" in json.dumps(json.loads(text), ensure_ascii=False)
    elif form == "junit":
        assert Xml.fromstring(text)[0][0].get("classname") == "größe(float *)"
    else:
        assert "gr??e(float *)" in text
