"""Every view shows what the profiles say."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING

import msgspec

import golden
from cuvein.findings import analyse
from cuvein.graph import load, reuse_intensity, reuse_ratio
from cuvein.patterns.wording import percent
from cuvein.profile import read_all
from cuvein.report import findings_words
from cuvein.report.html import write_report

if TYPE_CHECKING:
    from pathlib import Path

    from web.conftest import Tab


def launch(number: int) -> str:
    return f"launch=host-1-2%2F{number}"


def click_node(tab: Tab, node: int, **options: object) -> None:
    at = tab.page.evaluate("id => window.cuvein.locate(id)", node)
    tab.page.keyboard.down("Shift") if options.get("add") else None
    tab.page.mouse.click(at["x"], at["y"])
    tab.page.keyboard.up("Shift") if options.get("add") else None


def selection(tab: Tab) -> list[int]:
    chosen: list[int] = tab.page.evaluate("window.cuvein.state.selection")
    return chosen


def test_launches_are_listed_with_their_traffic_and_findings(tab: Tab, report: Path, run: Path) -> None:
    page = tab.open(report)
    rows = page.locator(".lrow:not(.head)")
    assert rows.count() == 5
    assert "softmax_rows" in rows.nth(0).inner_text()
    graph = load(run / "process-17/launch-000001.json")
    title = rows.nth(0).locator(".bar").get_attribute("title") or ""
    thread = graph.whole.weighted_out_degree("thread") / graph.whole.traffic
    assert f"thread {percent(thread)}" in title
    found = analyse(run / "process-17/launch-000003.json")
    assert rows.nth(2).locator(".sev").inner_text() == str(len(found.findings))


def test_launches_can_be_sorted_and_searched(tab: Tab, report: Path) -> None:
    page = tab.open(report)
    page.get_by_role("button", name="bytes", exact=True).click()
    assert page.evaluate("location.hash").endswith("sort=-bytes")
    first = page.locator(".lrow:not(.head)").first
    traffic = page.evaluate(
        "Math.max(...window.cuvein.store.index.launches.map(l => l.traffic.reduce((a, b) => a + b)))"
    )
    heaviest = page.evaluate(
        "t => window.cuvein.store.index.launches.findIndex(l => l.traffic.reduce((a, b) => a + b) === t) + 1",
        traffic,
    )
    assert first.inner_text().startswith(str(heaviest))
    page.get_by_label("Search launches").fill("soft")
    tab.until("document.querySelectorAll('.lrow:not(.head)').length === 2")
    page.get_by_label("Search launches").fill("nothing like it")
    tab.until("document.querySelectorAll('.lrow:not(.head)').length === 0")


def test_launch_opens_its_graph(tab: Tab, report: Path) -> None:
    page = tab.open(report)
    page.locator(".lrow:not(.head)").nth(2).click()
    page.wait_for_selector(".graph-view h2")
    assert page.locator(".panel h2").inner_text().startswith("stencil")
    assert "view=graph" in page.evaluate("location.hash")


def test_node_panel_tells_distributions_and_edges(tab: Tab, report: Path, run: Path) -> None:
    page = tab.open(report, f"#view=graph&{launch(3)}")
    page.wait_for_selector(".panel h2")
    graph = load(run / "process-17/launch-000003.json")
    node = max(
        (each for each in graph.nodes if each.space == "shared"), key=lambda each: len(graph.out_edges(each))
    )
    click_node(tab, node.id)
    page.wait_for_selector(".panel h2 code")
    assert selection(tab) == [node.id]
    assert page.locator(".panel h2").inner_text() == f"0x{node.pc:04x}"
    text = page.locator(".panel").inner_text()
    assert f"{node.executions:,} warps" in text
    assert "wavefronts" in text
    tables = page.locator(".panel .edges")
    assert tables.nth(0).locator("tbody tr").count() == len(graph.out_edges(node))
    assert page.locator(".histogram").count() == 3


def test_selection_shows_ratio_and_intensity_as_python_has_them(tab: Tab, report: Path, run: Path) -> None:
    page = tab.open(report, f"#view=graph&{launch(3)}")
    page.wait_for_selector(".panel h2")
    graph = load(run / "process-17/launch-000003.json")
    group = graph.closed_subgraphs[0]
    for position, node in enumerate(group.nodes):
        click_node(tab, node.id, add=position > 0)
    page.wait_for_selector("text=A closed subgraph")
    text = page.locator(".panel").inner_text()
    assert f"{reuse_intensity(group):.2f}\N{MULTIPLICATION SIGN}" in text
    assert percent(reuse_ratio(group, "block")) in text


def test_filters_hide_edges_and_spaces(tab: Tab, report: Path) -> None:
    page = tab.open(report, f"#view=graph&{launch(3)}")
    page.wait_for_selector(".panel h2")

    def picture() -> str:
        with page.expect_download() as download:
            page.get_by_role("button", name="SVG").click()
        return download.value.path().read_text()

    whole = picture().count("<path")
    page.get_by_role("group", name="Scopes").get_by_role("button", name="block").click()
    assert page.evaluate("location.hash").endswith("hide=block")
    without_block = picture().count("<path")
    assert without_block < whole
    page.get_by_role("group", name="Spaces").get_by_role("button", name="shared").click()
    assert picture().count("<path") < without_block
    page.get_by_role("group", name="Spaces").get_by_role("button", name="shared").click()
    page.get_by_role("group", name="Scopes").get_by_role("button", name="block").click()
    page.get_by_label("Least bytes of an edge to show").fill("55")
    assert "minimum=" in page.evaluate("location.hash")
    assert picture().count("<path") < whole


def test_findings_lead_to_their_instructions(tab: Tab, report: Path, run: Path) -> None:
    page = tab.open(report, "#view=findings")
    found = analyse(run)
    assert page.locator(".card").count() == len(found.findings)
    hazard = page.locator(".card").first
    assert "Race candidate" in hazard.inner_text()
    assert found.findings[0].summary in hazard.inner_text()
    assert found.findings[0].mechanism in hazard.inner_text()
    hazard.get_by_role("button", name="show all 2 in the graph").click()
    page.wait_for_selector(".graph-view")
    assert page.evaluate("window.cuvein.state.launch") == "host-1-2/2"
    assert sorted(selection(tab)) == sorted(place.node for place in found.findings[0].places)


def test_only_the_racy_launch_has_the_hazard(tab: Tab, report: Path) -> None:
    page = tab.open(report)
    held = page.evaluate(
        "(() => { const {index} = window.cuvein.store; return index.launches.map(l => (l.findings || [])"
        ".some(f => index.findings[f].pattern === 'race-candidate')); })()"
    )
    assert held == [False, True, False, False, False]


def test_diff_aligns_two_launches(tab: Tab, report: Path) -> None:
    page = tab.open(report, f"#view=diff&{launch(1)}&with=host-1-2%2F2")
    page.wait_for_selector(".pairs tbody tr")
    rows = page.locator(".pairs tbody tr")
    assert rows.count() == 10
    assert "absent" not in page.locator(".pairs").inner_text()
    page.get_by_label("After").select_option("host-1-2/3")
    page.wait_for_selector("text=absent")


def test_diff_tells_races_and_equal_choices(tab: Tab, report: Path) -> None:
    page = tab.open(report, f"#view=diff&{launch(1)}&with=host-1-2%2F2")
    page.wait_for_selector(".pairs tbody tr")
    row = page.locator("tr", has_text="bytes not ordered by a barrier")
    assert row.locator("td").nth(1).inner_text() == "0 B"
    assert row.locator("td").nth(3).inner_text() == "new"
    page.get_by_label("After").select_option("host-1-2/1")
    page.wait_for_selector("text=Before and after are the same launch")


def test_diff_counts_findings_by_severity(tab: Tab, report: Path, run: Path) -> None:
    page = tab.open(report, f"#view=diff&{launch(1)}&with=host-1-2%2F2")
    page.wait_for_selector(".pairs tbody tr")
    rows = page.locator("tr", has_text="findings, ").all()
    shown = [[cell.inner_text() for cell in row.locator("td").all()[:3]] for row in rows]
    found = analyse(run).findings
    expected = [
        [
            sum(f"host-1-2/{number}" in each.profiles and each.severity.word == word for each in found)
            for number in (1, 2)
        ]
        for word in ("high", "medium", "low", "info")
    ]
    assert [[int(before), int(after)] for _, before, after in shown] == [
        each for each in expected if any(each)
    ]
    assert shown[0][0] == "findings, high"
    assert expected[0][0] < expected[0][1]  # the second launch has a race


def test_run_facts_and_coverage(tab: Tab, report: Path) -> None:
    page = tab.open(report, f"#view=run&{launch(5)}")
    page.wait_for_selector("text=Coverage")
    text = page.locator(".run").inner_text()
    for fact in ("a problem of the run", "/usr/bin/app", '"two words"', "NVIDIA H200", "Sanitizer 13.5.25"):
        assert fact in text


def test_base_turns_offsets_into_addresses(tab: Tab, report: Path) -> None:
    page = tab.open(report, f"#view=graph&{launch(1)}&select=1")
    page.wait_for_selector(".panel h2 code")
    offset = int(page.locator(".panel h2").inner_text(), 16)
    page.get_by_label("Kernel base PC").fill("0x7f12_3400_0000")
    assert page.locator(".panel h2").inner_text() == f"0x{0x7F1234000000 + offset:x}"
    page.get_by_label("Kernel base PC").fill("nonsense")
    assert page.get_by_label("Kernel base PC").get_attribute("aria-invalid") == "true"
    page.get_by_label("Kernel base PC").fill("")
    assert int(page.locator(".panel h2").inner_text(), 16) == offset


def test_links_lead_back(tab: Tab, report: Path) -> None:
    place = f"#view=graph&{launch(3)}&select=3%2C4&hide=cold&minimum=16&base=0x7f0000000000"
    page = tab.open(report, place)
    page.wait_for_selector("text=2 instructions")
    state = page.evaluate("(({base, ...rest}) => ({...rest, base: String(base)}))(window.cuvein.state)")
    assert state["selection"] == [3, 4]
    assert state["hiddenLabels"] == ["cold"]
    assert state["base"] == str(0x7F0000000000)
    page.get_by_role("link", name=re.compile("Launches")).click()
    page.wait_for_selector(".launches")
    page.go_back()
    page.wait_for_selector("text=2 instructions")
    assert selection(tab) == [3, 4]


def test_link_to_a_launch_that_is_not_here_says_so(tab: Tab, report: Path) -> None:
    page = tab.open(report, "#view=graph&launch=elsewhere&select=1")
    page.wait_for_selector("text=The launch that the link leads to is not in this report")
    page.wait_for_selector(".panel h2")
    assert selection(tab) == []
    page.go_back()
    assert page.url == "about:blank"


def test_pictures_are_saved(tab: Tab, report: Path) -> None:
    page = tab.open(report, f"#view=graph&{launch(1)}")
    page.wait_for_selector(".panel h2")
    with page.expect_download() as svg:
        page.get_by_role("button", name="SVG").click()
    assert svg.value.suggested_filename == "softmax_rows-1.svg"
    picture = svg.value.path().read_text()
    assert picture.startswith("<svg ")
    assert picture.count("<text") > 20
    with page.expect_download() as png:
        page.get_by_role("button", name="PNG").click()
    data = png.value.path().read_bytes()
    assert data.startswith(b"\x89PNG")
    assert len(data) > 10_000


def test_view_files_hold_what_the_page_shows(tab: Tab, report: Path, run: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.cuvein.json"
    write_report(read_all(run), [run], file)
    page = tab.open(report)
    assert json.loads(file.read_text())["index"] == page.evaluate("window.cuvein.store.index")


def test_runs_of_two_builds_are_told_apart(tab: Tab, run: Path, tmp_path: Path) -> None:
    builds = []
    for pid, program in ((101, "before"), (202, "after")):
        (profile,) = (each for each in read_all(run) if each.launch.sequence == 3)
        process = msgspec.structs.replace(
            profile.process, id=f"host-{pid}", pid=pid, arguments=[f"/builds/{program}", "64"]
        )
        builds.append(msgspec.structs.replace(profile, id=f"host-{pid}/1", process=process))
    write_report(builds, [run], tmp_path / "two.html")
    page = tab.open(tmp_path / "two.html")
    rows = page.locator(".lrow:not(.head)")
    assert [rows.nth(at).inner_text().count("before 64, process 101") for at in (0, 1)] == [1, 0]
    page.get_by_label("Search launches").fill("after")
    tab.until("document.querySelectorAll('.lrow:not(.head)').length === 1")
    rows.first.click()
    tab.until("document.querySelector('canvas, svg') !== null")
    assert "after 64, process 202" in page.locator("body").inner_text()
    page = tab.open(tmp_path / "two.html", "#view=diff")
    named = [page.get_by_label(end).locator("option:checked").inner_text() for end in ("Before", "After")]
    assert [name.split(" · ")[0] for name in named] == ["before 64, process 101", "after 64, process 202"]


def test_launches_of_one_process_do_not_repeat_its_name(tab: Tab, report: Path) -> None:
    page = tab.open(report)
    assert "process" not in page.locator(".lrow:not(.head)").first.inner_text()


def test_findings_tell_where_they_were_launched_and_what_they_touch(tab: Tab, tmp_path: Path) -> None:
    recording = golden.FOLDER / "training" / "step.jsonl.gz"
    for number, line in enumerate(gzip.decompress(recording.read_bytes()).splitlines()):
        (tmp_path / f"launch-{number:06}.json").write_bytes(line)
    found = analyse(tmp_path).findings
    write_report(read_all(tmp_path), [tmp_path], tmp_path / "step.html")
    page = tab.open(tmp_path / "step.html", "#view=findings")
    page.wait_for_selector(".card")
    first = page.locator(".card").first.inner_text()
    assert "torch_train.py" in findings_words.launched(found[0])[0]
    for sentence in (*findings_words.launched(found[0]), findings_words.data(found[0])):
        assert sentence in first
    page.get_by_label("Search findings").fill("EmbeddingBackward0")
    told = [" ".join([*findings_words.launched(each), findings_words.data(each)]) for each in found]
    fitting = sum("EmbeddingBackward0" in text for text in told)
    assert 0 < fitting < len(found)
    tab.until(
        f"[...document.querySelectorAll('[role=status]')].some(s => s.textContent.startsWith('{fitting} of'))"
    )
