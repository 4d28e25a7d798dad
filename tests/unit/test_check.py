"""cuvein check: what fails, what is known, what every format says, and each bad input."""

from __future__ import annotations

import gc
import json
import weakref
from xml.etree import ElementTree as Xml

import pytest
from jsonschema import Draft7Validator

from cuvein.findings import Analysis, analyse
from cuvein.findings.baseline import Baseline, fingerprint
from cuvein.findings.checking import check
from cuvein.findings.rules import Rules, read_rules
from cuvein.patterns import SourceLine
from cuvein.report.sarif import sarif
from unit.profiles.command import command_line
from unit.profiles.maker import Maker
from unit.profiles.runs import kernel, write

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
