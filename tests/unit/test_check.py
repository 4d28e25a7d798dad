"""cuvein check: what fails, what is known, what every format says, and each bad input."""

from __future__ import annotations

import gc
import io
import json
import os
import sys
import weakref
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

import msgspec
import pytest
from jsonschema import Draft7Validator

from cuvein.cli.application import main
from cuvein.findings import Analysis, analyse
from cuvein.findings.baseline import Baseline, fingerprint
from cuvein.findings.checking import check
from cuvein.findings.rules import Rules, RulesError, read_rules
from cuvein.patterns import SourceLine
from cuvein.profile import encode, write_process
from cuvein.report.sarif import sarif
from reference.sample import SUMMARY
from unit.profiles.command import command_line
from unit.profiles.maker import Maker

if TYPE_CHECKING:
    from pathlib import Path

# The parts of SARIF 2.1.0 that a consumer relies on; the whole schema is not ours to keep here.
SARIF = {
    "type": "object",
    "required": ["version", "runs", "$schema"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "required": ["driver"],
                        "properties": {"driver": {"required": ["name", "rules"]}},
                    },
                    "results": {
                        "items": {
                            "required": ["message", "ruleId", "ruleIndex", "level", "locations"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"required": ["text"]},
                                "baselineState": {"enum": ["new", "unchanged", "updated", "absent"]},
                                "partialFingerprints": {"additionalProperties": {"type": "string"}},
                            },
                        }
                    },
                },
            },
        },
    },
}


def kernel(name="transpose(float *)", *, conflicted=True, racy=False, repeats=1):
    maker = Maker(name)
    maker.node(executions=16 * repeats)
    maker.node("write", "shared")
    maker.node("read", "shared", wavefronts=32 if conflicted else 1)
    maker.edge(2, 1, "block", None, 64 if racy else 0)
    return maker


def write(folder: Path, *makers: Maker, start=1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number, maker in enumerate(makers, start):
        (folder / f"launch-{number:06}.json").write_bytes(encode(maker.profile(number)))
    return folder


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line as users do and return status, standard output and standard error."""
    return command_line(monkeypatch, capsys)


# The verdict


def test_clean_run_passes(tmp_path, run):
    status, out, _ = run("check", write(tmp_path, kernel(conflicted=False)))
    assert status == 0
    assert "passed" in out


def test_finding_at_the_bar_fails_and_is_explained(tmp_path, run):
    status, out, _ = run("check", write(tmp_path, kernel()))
    assert status == 1
    assert "FAILED" in out
    assert "[bank-conflict]" in out
    assert "at pc 0x30: 4-byte shared" in out
    assert "496 wavefronts" in out


@pytest.mark.parametrize(
    ("bar", "status"),
    [("high", 1), ("never", 0), ("bank-conflict", 1), ("race-candidate", 0), ("poor-coalescing", 0)],
)
def test_bar_is_a_severity_or_a_pattern(tmp_path, run, bar, status):
    assert run("check", write(tmp_path, kernel()), "--fail-on", bar)[0] == status


def test_severity_is_the_share_of_the_kernel(tmp_path, run):
    # 496 of about 1,700 transactions are wasted at first; in the larger kernel it is about one in nine.
    large = kernel(repeats=64)
    (finding,) = large.findings("bank-conflict")
    assert finding.severity.word == "medium"
    folder = write(tmp_path, large)
    assert run("check", folder)[0] == 0
    assert run("check", folder, "--fail-on", "medium")[0] == 1
    assert run("check", folder, "--threshold", f"high={finding.shares.largest}")[0] == 1
    assert run("check", folder, "--threshold", f"high={finding.shares.largest + 1e-9}")[0] == 0


def test_options_override_the_rules_file(tmp_path, run):
    folder = write(tmp_path / "run", kernel())
    rules = tmp_path / "rules.toml"
    rules.write_text('fail-on = ["never"]\n[thresholds]\nconflict = 40\n')
    assert "[bank-conflict]" not in run("check", folder, "--rules", rules)[1]
    status, out, _ = run("check", folder, "--rules", rules, "--fail-on", "high", "--threshold", "conflict=2")
    assert status == 1
    assert "[bank-conflict]" in out


def test_ignored_finding_does_not_fail(tmp_path, run):
    folder = write(tmp_path / "run", kernel())
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '[[ignore]]\npattern = "bank-conflict"\nkernel = "^transp"\nreason = "known, issue 12"\n'
    )
    status, out, _ = run("check", folder, "--rules", rules)
    assert status == 0
    assert "1 is ignored by the rules" in out


def test_ignore_is_for_the_kernel_it_names():
    (finding,) = kernel().findings("bank-conflict")
    entry = read_rules(None).ignored(finding)
    assert entry is None


def test_equal_launches_are_one_finding(tmp_path):
    report = analyse(write(tmp_path, *(kernel() for _ in range(5))))
    (finding,) = [each for each in report.findings if each.pattern == "bank-conflict"]
    assert (finding.launches, finding.of_launches) == (5, 5)
    assert finding.removal.wavefronts == 5 * 496
    assert finding.shares.wavefronts == pytest.approx(496 / 528)


def test_launches_of_another_shape_stay_apart(tmp_path):
    other = kernel()
    other.grid = (8, 1, 1)
    report = analyse(write(tmp_path, kernel(), other))
    assert len([each for each in report.findings if each.pattern == "bank-conflict"]) == 2
    assert len(report.kernels) == 2


def test_findings_rank_by_their_share_of_the_run(tmp_path):
    often = [kernel("often()", repeats=4) for _ in range(3)]
    report = analyse(write(tmp_path, kernel("once()"), *often))
    conflicts = [each for each in report.findings if each.pattern == "bank-conflict"]
    assert [each.kernel.name for each in conflicts] == ["often()", "once()"]
    assert conflicts[0].score == pytest.approx(3 * conflicts[1].score)


def test_what_matters_little_to_its_kernel_ranks_after_what_could_move(tmp_path):
    maker = Maker()
    # One read in 200 is redundant, which removes work; all others are broadcasts, which could only move.
    own = maker.node(executions=2)
    maker.edge(own, own, "thread", 128)
    shared = maker.node(executions=398, addresses=1, sectors=1)
    maker.edge(shared, shared, "warp_same_inst", 398 * 31 * 4)
    maker.edge(shared, shared, "grid", 397 * 4)
    found = analyse(write(tmp_path, maker)).findings
    assert [(each.pattern, each.severity.word) for each in found][:2] == [
        ("constant-candidate", "low"),
        ("broadcast", "low"),
    ]
    assert ("redundant-read", "info") in [(each.pattern, each.severity.word) for each in found]


def test_analysis_keeps_no_graph_alive():
    analysis = Analysis()
    graph = kernel(racy=True).graph()
    analysis.add(graph)
    gone = weakref.ref(graph)
    gc.disable()
    try:
        del graph
        assert gone() is None
    finally:
        gc.enable()
    assert analysis.report().findings


# Baseline


def test_baseline_makes_known_findings_pass_and_new_ones_fail(tmp_path, run):
    baseline = tmp_path / "baseline.json"
    folder = write(tmp_path / "run", kernel())
    assert run("check", folder, "--baseline", baseline, "--write-baseline")[0] == 0
    status, out, _ = run("check", folder, "--baseline", baseline)
    assert status == 0
    assert "are in the baseline" in out
    status, out, _ = run("check", write(tmp_path / "new", kernel(racy=True)), "--baseline", baseline)
    assert status == 1
    assert "[race-candidate]" in out
    assert "[bank-conflict]" not in out


def test_finding_that_is_gone_is_mentioned(tmp_path, run):
    baseline = tmp_path / "baseline.json"
    run("check", write(tmp_path / "run", kernel()), "--baseline", baseline, "--write-baseline")
    status, out, _ = run("check", write(tmp_path / "fixed", kernel(conflicted=False)), "--baseline", baseline)
    assert status == 0
    assert "1 of the baseline is gone" in out


def test_known_finding_that_became_worse_is_new(tmp_path, run):
    baseline = tmp_path / "baseline.json"
    run("check", write(tmp_path / "run", kernel(repeats=64)), "--baseline", baseline, "--write-baseline")
    assert run("check", write(tmp_path / "worse", kernel()), "--baseline", baseline)[0] == 1


def test_fingerprint_survives_moved_code_and_other_shapes():
    before = kernel().findings("bank-conflict")[0]
    maker = kernel()
    for node in maker.nodes:
        node["pc"] += 0x100
    maker.grid = (1024, 1, 1)
    after = maker.findings("bank-conflict")[0]
    assert before.places[0].pc != after.places[0].pc
    assert fingerprint(before) == fingerprint(after)


def test_fingerprint_tells_two_instructions_of_a_kernel_apart():
    maker = kernel()
    maker.node("read", "shared", wavefronts=16)
    maker.edge(3, 1, "block", None, 0)
    one, other = maker.findings("bank-conflict")
    assert fingerprint(one) != fingerprint(other)


def test_baseline_survives_its_file(tmp_path):
    report = analyse(write(tmp_path, kernel()))
    baseline = Baseline.of(report.findings)
    assert len(baseline.findings) == len(report.findings)
    document = json.loads(baseline.encode())
    assert document["format"] == "cuvein baseline"
    assert {"fingerprint", "pattern", "kernel", "severity", "summary"} == set(document["findings"][0])


# Formats


def test_sarif_holds_every_finding_with_its_state(tmp_path, run):
    folder = write(tmp_path / "run", kernel(racy=True))
    file = tmp_path / "out.sarif"
    status, out, _ = run("check", folder, "--format", "sarif", "--output", file)
    assert status == 1
    assert "FAILED" in out  # people still get the text
    log = json.loads(file.read_text())
    Draft7Validator(SARIF).validate(log)
    (single,) = log["runs"]
    results = single["results"]
    assert {"race-candidate", "bank-conflict"} <= {result["ruleId"] for result in results}
    for result in results:
        assert single["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    race = next(result for result in results if result["ruleId"] == "race-candidate")
    assert race["level"] == "error"
    assert race["relatedLocations"][0]["logicalLocations"][0]["name"] == "transpose(float *)"
    assert "physicalLocation" not in race["locations"][0]


def test_sarif_points_to_the_source_line_where_known(tmp_path):
    write(tmp_path, kernel())
    report = analyse(tmp_path, locate=lambda profile, node: SourceLine("src/a b.cu", 40 + node.id))
    log = json.loads(sarif(check(report, Rules())))
    result = next(each for each in log["runs"][0]["results"] if each["ruleId"] == "bank-conflict")
    physical = result["locations"][0]["physicalLocation"]
    assert physical == {"artifactLocation": {"uri": "src/a%20b.cu"}, "region": {"startLine": 42}}


def test_sarif_marks_known_and_ignored(tmp_path):
    report = analyse(write(tmp_path, kernel(racy=True)))
    races = [each for each in report.findings if each.pattern == "race-candidate"]
    rules = tmp_path / "rules.toml"
    rules.write_text('[[ignore]]\npattern = "bank-conflict"\nreason = "padding is planned"\n')
    log = json.loads(sarif(check(report, read_rules(rules), Baseline.of(races))))
    by_rule = {each["ruleId"]: each for each in log["runs"][0]["results"]}
    assert by_rule["race-candidate"]["baselineState"] == "unchanged"
    assert by_rule["bank-conflict"]["suppressions"][0]["justification"] == "padding is planned"


def test_junit_counts_and_reads_back(tmp_path, run):
    folder = write(tmp_path / "run", kernel("bad<\x01&>()"), Maker("clean()"))
    status, out, _ = run("check", folder, "--format", "junit")
    assert status == 1
    suite = Xml.fromstring(out)[0]
    cases = suite.findall("testcase")
    failures = suite.findall("testcase/failure")
    assert suite.get("tests") == str(len(cases))
    assert suite.get("failures") == str(len(failures)) == "1"
    assert failures[0].get("type") == "bank-conflict"
    assert "no findings (grid 4, block 128)" in [case.get("name") for case in cases]


def test_json_says_the_state_of_every_finding(tmp_path, run):
    status, out, _ = run("check", write(tmp_path, kernel()), "--format", "json")
    document = json.loads(out)
    assert status == 1
    assert document["verdict"]["passed"] is False
    states = {each["pattern"]: each["state"] for each in document["findings"]}
    assert states["bank-conflict"] == "fails"
    assert set(states.values()) == {"fails", "below"}
    assert document["findings"][0]["removal"]["wavefronts"] == 496


# Bad input: one sentence and a documented status each


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


def test_profiles_without_accesses_mean_nothing_was_profiled(tmp_path, run):
    status, _, err = run("check", write(tmp_path, Maker("idle()")))
    assert status == 120
    assert "hold no memory access (idle())" in one_sentence(err)


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
