"""cuvein diff: what is matched, what went away, appeared or moved, and whether the fix delivered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cuvein.findings.combining import Combiner
from cuvein.findings.comparison import Comparison, compare, read_run
from cuvein.findings.matching import match_kernels, match_nodes
from cuvein.patterns import SourceLine
from cuvein.profile import encode
from cuvein.report.diff import change, diff_text
from unit.profiles.command import command_line
from unit.profiles.maker import Maker

if TYPE_CHECKING:
    from pathlib import Path

BYTES = 16 * 32 * 4


def transpose(*, padded, name="transpose(float *)", mangled="_Z9transposePf"):
    """Make the kernel before and after its tile was padded: only the wavefronts change."""
    maker = Maker(name, mangled)
    maker.node()
    maker.node("write", "shared")
    maker.node("read", "shared", wavefronts=1 if padded else 32)
    maker.node("write")
    maker.edge(2, 1, "block", None, 0)
    return maker


def private(*, promoted):
    """Make a kernel before and after its thread-private shared values went to registers."""
    maker = Maker("softmax(float *)")
    maker.node()
    if not promoted:
        maker.node("write", "shared")
        maker.node("read", "shared")
        maker.edge(2, 1, "thread")
    maker.node("write")
    return maker


def combined(maker, sources=None):
    locate = (lambda profile, node: sources[node.id]) if sources else None
    combiner = Combiner(locate)
    combiner.add(maker.graph())
    return combiner.kernels[0]


def save(folder: Path, *makers: Maker) -> Path:
    folder.mkdir()
    for number, maker in enumerate(makers, 1):
        (folder / f"launch-{number:06}.json").write_bytes(encode(maker.profile(number)))
    return folder


@pytest.fixture
def comparison(tmp_path):
    """Compare two lists of kernels."""

    def compared(before, after) -> Comparison:
        return compare(read_run([save(tmp_path / "A", *before)]), read_run([save(tmp_path / "B", *after)]))

    return compared


# Kernels


def kernels(*names):
    return [combined(transpose(padded=True, name=name, mangled=mangled)) for name, mangled in names]


@pytest.mark.parametrize(
    ("before", "after", "how"),
    [
        (("k(int)", "_Z1ki"), ("k(int)", "_Z1ki"), "mangled name"),
        (("void k<4>(int)", "_Za"), ("k<4>(int)", "_Zb"), "name"),
        (("k<4>(int)", "_Za"), ("k<4>(long)", "_Zb"), "name without parameters"),
        (("k<4>(int)", "_Za"), ("k<8>(int)", "_Zb"), "name without template arguments"),
        (("fused_add_3(int)", "_Za"), ("fused_add_17(int)", "_Zb"), "name without numbers"),
        (("old(int)", "_Za"), ("renamed(int)", "_Zb"), "structure"),
    ],
)
def test_kernels_match_by_the_strictest_form_that_fits(before, after, how):
    (match,) = match_kernels(kernels(before), kernels(after))
    assert match.how == how


def test_a_loose_form_that_fits_two_kernels_does_not_count():
    before = kernels(("k<1>(int)", "_Z1"), ("k<2>(int)", "_Z2"))
    after = kernels(("k<1>(int)", "_Z1x"), ("k<3>(int)", "_Z3"))
    matches = match_kernels(before, after)
    assert {(match.before.mangled, match.after.mangled): match.how for match in matches} == {
        ("_Z1", "_Z1x"): "name",
        ("_Z2", "_Z3"): "name without template arguments",
    }


def test_kernels_of_different_code_do_not_match():
    other = Maker("b()")
    for _ in range(6):
        other.node("atomic", size=8)
    assert match_kernels([combined(transpose(padded=True, name="a()", mangled="a"))], [combined(other)]) == []


def test_kernels_in_one_run_only_are_listed(comparison):
    other = Maker("b()")
    other.node("atomic")
    result = comparison([transpose(padded=True)], [transpose(padded=True), other])
    assert [kernel.name for kernel in result.after_only] == ["b()"]
    assert result.before_only == []


# Instructions


def pairs(before, after):
    return [(one.key.pc, other.key.pc) for one, other in match_nodes(before, after).pairs]


def test_instructions_match_in_order_when_code_is_inserted():
    before = transpose(padded=False)
    after = Maker("transpose(float *)", "_Z9transposePf")
    after.node()
    after.node(size=8)  # new
    after.node("write", "shared")
    after.node("read", "shared")
    after.node("write")
    after.edge(3, 2, "block", None, 0)
    matches = match_nodes(combined(before), combined(after))
    assert pairs(combined(before), combined(after)) == [(16, 16), (32, 48), (48, 64), (64, 80)]
    assert [node.key.pc for node in matches.after_only] == [32]
    assert matches.by_source == 0


def test_neighbourhood_tells_equal_instructions_apart():
    """Two loads of one kind: the one that reloads goes, the one that touches first stays."""
    before = Maker()
    before.node()
    before.node()
    before.edge(1, 0, "thread")
    after = Maker()
    after.node(pc=64)
    matches = match_nodes(combined(before), combined(after))
    assert [(one.key.pc, other.key.pc) for one, other in matches.pairs] == [(16, 64)]
    assert [node.key.pc for node in matches.before_only] == [32]


def test_source_lines_match_what_the_compiler_reordered():
    before, after = Maker(), Maker()
    for maker in (before, after):
        maker.node()
        maker.node()
    lines = [SourceLine("/a/k.cu", 10), SourceLine("/a/k.cu", 20)]
    moved = [SourceLine("/b/k.cu", 20), SourceLine("/b/k.cu", 10)]
    assert pairs(combined(before, lines), combined(after, moved)) == [(16, 32), (32, 16)]


def test_source_lines_that_all_shifted_do_not_mislead():
    before, after = Maker(), Maker()
    for maker in (before, after):
        for _ in range(4):
            maker.node()
    lines = [SourceLine("k.cu", line) for line in (10, 11, 12, 13)]
    shifted = [SourceLine("k.cu", line) for line in (13, 14, 15, 16)]
    matches = match_nodes(combined(before, lines), combined(after, shifted))
    assert matches.by_source == 0
    assert [(one.key.pc, other.key.pc) for one, other in matches.pairs] == [
        (16, 16),
        (32, 32),
        (48, 48),
        (64, 64),
    ]


def test_reads_and_writes_never_match():
    before, after = Maker(), Maker()
    before.node("read")
    after.node("write")
    matches = match_nodes(combined(before), combined(after))
    assert matches.pairs == []
    assert len(matches.before_only) == len(matches.after_only) == 1


def test_many_instructions_are_matched_fast():
    before, after = Maker(), Maker()
    for maker in (before, after):
        for number in range(1200):
            maker.node("read" if number % 3 else "write")
    assert len(match_nodes(combined(before), combined(after)).pairs) == 1200


# What changed


def test_padding_took_the_wavefronts_it_was_said_to(comparison):
    (kernel,) = comparison([transpose(padded=False)], [transpose(padded=True)]).kernels
    assert [(change.before.pattern, change.after) for change in kernel.gone] == [("bank-conflict", None)]
    assert kernel.appeared == []
    assert kernel.before.wavefronts - kernel.after.wavefronts == 496
    attribution = kernel.attribution
    assert attribution.attributed.wavefronts == 496
    assert attribution.at_places.wavefronts == 496
    assert attribution.in_kernel.wavefronts == 496


def test_promotion_took_instructions_and_left_the_rest(comparison):
    (kernel,) = comparison([private(promoted=False)], [private(promoted=True)]).kernels
    assert "shared-memory-abuse" in {change.before.pattern for change in kernel.gone}
    assert len(kernel.nodes.before_only) == 2
    # Redundant read and abuse both promise the load: it can go once.
    assert kernel.attribution.attributed.instructions == 32
    assert kernel.attribution.at_places.instructions == 32
    assert kernel.traffic["shared", "thread"] == (BYTES, 0)


def test_a_fix_that_only_moves_the_waste_is_seen(comparison):
    """The conflict goes from the load to the store: nothing is won in the kernel."""
    after = transpose(padded=True)
    after.nodes[1]["wavefronts"] = [(32, 16)]
    (kernel,) = comparison([transpose(padded=False)], [after]).kernels
    assert [change.before.pattern for change in kernel.gone] == ["bank-conflict"]
    assert [change.after.pattern for change in kernel.appeared] == ["bank-conflict"]
    assert kernel.attribution.at_places.wavefronts == 496
    assert kernel.attribution.in_kernel.wavefronts == 0


def test_what_was_matched_by_structure_says_why_less_went_there_than_in_the_kernel(comparison):
    """The second read went; the first, now in two instructions, is taken for both."""
    before, after = Maker("sum(float *)"), Maker("sum(float *)")
    before.node(executions=32)
    before.node()
    before.edge(1, 0, "thread", BYTES)
    after.node()
    after.node()
    compared = comparison([before], [after])
    (kernel,) = compared.kernels
    assert kernel.nodes.before_only == []
    assert kernel.attribution.at_places.bytes < kernel.attribution.in_kernel.bytes
    assert "matched by structure, so one that is new" in " ".join(diff_text(compared).split())


def test_reuse_that_moved_scope_names_both_labels(comparison):
    def tiled(label):
        maker = Maker("gemm(float *)")
        maker.node()
        maker.edge(0, 0, label, BYTES * 3 // 4)
        return maker

    (kernel,) = comparison([tiled("grid")], [tiled("block")]).kernels
    (moved,) = kernel.moved
    assert (moved.source, moved.target, moved.share) == ("grid", "block", 0.75)
    assert kernel.traffic["global", "grid"] == (BYTES * 3 // 4, 0)
    assert [change.before.pattern for change in kernel.gone] == ["grid-dominant-reuse"]


def test_a_race_that_narrowed_is_a_moved_finding(comparison):
    def racy(label):
        maker = Maker("k()")
        maker.node("write", "shared")
        maker.node("read", "shared")
        maker.edge(1, 0, label, None, 64)
        return maker

    (kernel,) = comparison([racy("block")], [racy("warp_diff_inst")]).kernels
    (race,) = [change for change in kernel.stayed if change.before.pattern == "race-candidate"]
    assert (race.before.scope, race.after.scope, race.moved) == ("block", "warp", True)


def test_amounts_are_for_one_launch(comparison):
    (kernel,) = comparison([transpose(padded=False)] * 3, [transpose(padded=True)]).kernels
    assert kernel.before.wavefronts == 528
    assert kernel.attribution.attributed.wavefronts == 496


def test_equal_runs_have_no_difference(comparison):
    (kernel,) = comparison([transpose(padded=False)], [transpose(padded=False)]).kernels
    assert kernel.gone == kernel.appeared == kernel.moved == []
    assert kernel.attribution is None
    assert kernel.before == kernel.after


# The command


def test_of_several_kernels_those_without_a_change_are_only_named(comparison):
    before, after, other = transpose(padded=False), transpose(padded=True), private(promoted=False)
    text = diff_text(comparison([before, other], [after, other]))
    assert "Unchanged:\n  softmax(float *) (1 launch)\n" in text
    assert text.count("For one launch:") == 1


def test_of_several_kernels_each_with_a_change_is_told(comparison):
    before = [transpose(padded=False), private(promoted=False)]
    text = diff_text(comparison(before, [transpose(padded=True), private(promoted=True)]))
    assert "Unchanged" not in text
    assert text.count("For one launch:") == 2


def test_many_kernels_without_a_change_are_counted(comparison):
    makers = [Maker(f"kernel_{number}()") for number in range(15)]
    for maker in makers:
        maker.node()
    text = diff_text(comparison(makers, makers))
    assert text.count("_") == 12
    assert "  and 3 more" in text


def test_text_names_what_went_and_what_was_promised(tmp_path, monkeypatch, capsys):
    run = command_line(monkeypatch, capsys)
    before = save(tmp_path / "A", transpose(padded=False))
    after = save(tmp_path / "B", transpose(padded=True))
    status, out, _ = run("diff", before, after)
    assert status == 0
    assert "Findings that went away" in out
    assert "Bank conflict at pc 0x30" in out
    words = [line.split() for line in out.splitlines() if line.strip().startswith("wavefronts")]
    assert words == [["wavefronts", "528", "->", "32", "-93.9", "%"], ["wavefronts", "496", "496", "496"]]


def test_json_has_the_same_numbers(tmp_path, monkeypatch, capsys):
    run = command_line(monkeypatch, capsys)
    before = save(tmp_path / "A", transpose(padded=False))
    after = save(tmp_path / "B", transpose(padded=True))
    status, out, _ = run("diff", before, after, "--format", "json")
    document = json.loads(out)
    assert (status, document["format"], document["version"]) == (0, "cuvein diff", 1)
    (kernel,) = document["kernels"]
    assert kernel["attribution"]["attributed"]["wavefronts"] == 496
    assert kernel["findings"]["gone"][0]["before"]["pattern"] == "bank-conflict"
    assert run("diff", before, after, "--format", "json", "--output", tmp_path / "out.json")[1] == ""
    assert json.loads((tmp_path / "out.json").read_text()) == document


def test_no_kernel_in_common_lists_both_sides(tmp_path, monkeypatch, capsys):
    other = Maker("b()")
    other.node("atomic")
    run = command_line(monkeypatch, capsys)
    status, _, err = run("diff", save(tmp_path / "A", transpose(padded=True)), save(tmp_path / "B", other))
    assert status == 120
    assert err.startswith("cuvein: error: no kernel is in both:")
    assert "transpose(float *)" in err
    assert "b()" in err


@pytest.mark.parametrize(("make", "status"), [(True, 120), (False, 123)])
def test_empty_or_missing_side(tmp_path, monkeypatch, capsys, make, status):
    side = tmp_path / "B"
    if make:
        side.mkdir()
    run = command_line(monkeypatch, capsys)
    ended, _, err = run("diff", save(tmp_path / "A", transpose(padded=True)), side)
    assert ended == status
    assert len(err.strip().splitlines()) == 1


def test_copies_of_a_source_line_are_one_line_of_the_comparison(tmp_path):
    before, after = Maker("tile(float *)"), Maker("tile(float *)")
    for maker, staged in ((before, 16), (after, 0)):
        maker.node()
        for copy in range(staged):
            maker.node("write", "shared")
            maker.node("read", "shared")
            maker.edge(2 * copy + 2, 2 * copy + 1, "thread")

    def locate(profile, node):
        return SourceLine("k.cu", {"write": 17, "read": 34}[node.type] if node.space == "shared" else 12)

    folders = [save(tmp_path / "A", before), save(tmp_path / "B", after)]
    text = diff_text(compare(*(read_run([folder], locate=locate) for folder in folders)))
    assert f"k.cu:17 (pc 0x20 and 15 more): 4-byte shared write, {16 * BYTES:,} bytes in all" in text
    assert f"k.cu:34 (pc 0x30 and 15 more): 4-byte shared read, {16 * BYTES:,} bytes in all" in text
    assert text.count("Thread-private data in shared memory at k.cu:17") == 1


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (8, 8, "="),
        (0, 8, "new"),
        (8, 0, "gone"),
        (8, 7, "-12.5 %"),
        (8, 20, "+150 %"),
        (983044, 8, "-99.9 %"),
        (983044, 983040, "-< 0.1 %"),
    ],
)
def test_a_change_in_words(before, after, words):
    assert change(before, after) == words
