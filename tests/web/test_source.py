"""Source and instructions, of recordings from a GPU with their modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.profile import read_all
from cuvein.report.html import write_report

if TYPE_CHECKING:
    from pathlib import Path

    from web.conftest import Tab


def test_source_shows_lines_and_instructions_of_the_kernel(tab: Tab, recorded: Path) -> None:
    page = tab.open(recorded, "#view=source&query=softmax")
    page.evaluate("n => { location.hash = `view=source&launch=${n}` }", launch(tab, "softmax"))
    page.wait_for_selector("text=@load")
    lines, instructions = page.locator(".pane").nth(0), page.locator(".pane").nth(1)
    line = lines.locator(".crow", has_text="// @load")
    assert line.get_attribute("tabindex") == "0"
    assert "cold" in (line.locator(".bar").get_attribute("aria-label") or "")
    line.click()
    page.wait_for_selector(".pane >> nth=1 >> .marked")
    marked = instructions.locator(".marked")
    assert marked.count() == 1
    assert "LDG.E" in marked.inner_text()
    page.get_by_role("button", name="Show selection in graph").click()
    page.wait_for_selector(".panel h2 code")
    assert "LDG.E" in page.locator(".panel .sass").inner_text()


def test_graph_leads_to_the_line(tab: Tab, recorded: Path) -> None:
    page = tab.open(recorded)
    page.evaluate("n => { location.hash = `view=graph&launch=${n}&select=3` }", launch(tab, "softmax"))
    page.locator(".frames button").first.click()
    page.wait_for_selector(".source-view .marked")
    marked = page.locator(".pane").first.locator(".marked")
    # The innermost line, and the call that was inlined.
    assert [row.split()[0] for row in marked.all_inner_texts()][-1] == "95"


def test_both_halves_of_a_copy_are_one_instruction(tab: Tab, recorded: Path) -> None:
    page = tab.open(recorded)
    page.evaluate("n => { location.hash = `view=source&launch=${n}` }", launch(tab, "pipeline"))
    page.locator(".crow.hot", has_text="LDGSTS").first.click()
    tab.until("window.cuvein.state.selection.length === 2")
    page.get_by_role("button", name="Show selection in graph").click()
    page.wait_for_selector("text=2 instructions")


def test_profiles_without_modules_say_what_is_missing(tab: Tab, run: Path, report: Path) -> None:
    page = tab.open(report, "#view=source")
    page.wait_for_selector("text=is not beside the profile")
    assert page.locator(".crow.hot").count() > 0


def test_source_that_is_not_here_is_named(tab: Tab, recorded_run: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    write_report(read_all(recorded_run), [recorded_run], file)
    page = tab.open(file)
    page.evaluate("n => { location.hash = `view=source&launch=${n}` }", launch(tab, "softmax"))
    page.wait_for_selector("text=is not here; name its folder with --source-root")
    assert page.locator(".pane").first.locator(".crow.hot").count() > 8


def launch(tab: Tab, kernel: str) -> str:
    found: str = tab.page.evaluate(
        "k => { const {index} = window.cuvein.store;"
        " return index.launches.find(l => index.kernels[l.kernel].short === k).id; }",
        kernel,
    )
    return found
