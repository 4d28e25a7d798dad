"""The keyboard, screen readers, light and dark, small windows and large files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from cuvein.report.html import write_report
from reference import large

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from web.conftest import Tab

LARGEST = 15_000_000


def test_everything_can_be_reached_by_keyboard(tab: Tab, report: Path) -> None:
    page = tab.open(report)
    page.locator(".vl").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector(".panel h2")
    assert page.evaluate("window.cuvein.state.launch") == "host-1-2/3"
    page.locator(".graph-canvas").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    tab.until("window.cuvein.state.selection.length === 1")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Enter")
    tab.until("window.cuvein.state.selection.length === 2")
    assert "2 instructions selected" in page.locator("[aria-live]").inner_text()
    page.keyboard.press("Escape")
    tab.until("window.cuvein.state.selection.length === 0")
    page.keyboard.press("]")
    tab.until("window.cuvein.state.launch === 'host-1-2/4'")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    page.wait_for_selector(".launches")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"


def focused(tab: Tab) -> str:
    name: str = tab.page.evaluate(
        "(({ariaLabel, title, textContent}) => ariaLabel || title || textContent)(document.activeElement)"
    )
    return name


def test_keyboard_stays_where_it_was(tab: Tab, report: Path) -> None:
    page = tab.open(report, "#view=graph")
    page.wait_for_selector(".panel h2")
    for chosen in (
        page.get_by_role("group", name="Scopes").get_by_role("button", name="thread"),
        page.get_by_label("Next launch"),
        page.get_by_role("link", name="Source"),
        page.locator(".crow.hot").nth(1),
    ):
        chosen.focus()
        before = focused(tab)
        place = page.evaluate("location.hash")
        page.keyboard.press("Enter")
        tab.until(f"location.hash !== {place!r}")
        page.wait_for_timeout(60)
        assert focused(tab) == before
        assert page.evaluate("document.activeElement !== document.body")


def test_lists_stay_where_they_were_scrolled_to(tab: Tab, recorded: Path) -> None:
    page = tab.open(recorded, "#view=source")
    page.wait_for_selector(".crow.hot")
    sass = page.locator(".vl[aria-label=Instructions]")
    sass.evaluate("e => { e.scrollTop = 900; }")
    page.wait_for_timeout(60)
    page.keyboard.press("4")
    page.wait_for_selector(".card")
    page.keyboard.press("3")
    page.wait_for_selector(".crow.hot")
    assert sass.evaluate("e => e.scrollTop") == 900


def test_controls_have_names(tab: Tab, report: Path) -> None:
    page = tab.open(report)
    for key in "123456":
        page.keyboard.press(key)
        page.wait_for_timeout(80)
        nameless = page.evaluate(
            "[...document.querySelectorAll('button, input, select, a, [role=img]')].filter(e => !e.hidden &&"
            " !(e.getAttribute('aria-label') || e.textContent.trim() ||"
            " e.closest('label')?.textContent.trim())).map(e => e.outerHTML)"
        )
        assert nameless == []


def test_dark_follows_the_system_and_the_button(tab: Tab, report: Path) -> None:
    page = tab.open(report, "#view=graph")
    page.wait_for_selector(".panel h2")

    def background() -> str:
        colour: str = page.evaluate("getComputedStyle(document.querySelector('.panel')).backgroundColor")
        return colour

    light = background()
    page.emulate_media(color_scheme="dark")
    dark = background()
    assert light != dark
    page.get_by_label("Light or dark").click()
    assert background() == light
    page.get_by_label("Light or dark").click()
    assert background() == dark


def test_block_and_grid_differ_in_more_than_colour(tab: Tab, report: Path) -> None:
    """Without green and red receptors the two are shades of one yellow."""
    page = tab.open(report)
    page.wait_for_selector(".bar .l-grid")
    images = page.evaluate(
        "['block', 'grid'].map(n => getComputedStyle(document.querySelector(`.bar .l-${n}`)).backgroundImage)"
    )
    assert images[0] == "none"
    assert "repeating-linear-gradient" in images[1]


def test_nothing_overflows_at_1280_pixels(tab: Tab, report: Path) -> None:
    page = tab.open(report)
    for key in "123456":
        page.keyboard.press(key)
        page.wait_for_timeout(80)
        assert page.evaluate("document.documentElement.scrollWidth") == 1280
        assert page.evaluate("document.documentElement.scrollHeight") == 800


CONTRAST = """() => {
    const pen = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    const read = text => {
        pen.clearRect(0, 0, 1, 1);
        pen.fillStyle = text;
        pen.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3]));
    const linear = v => v <= 0.03928 * 255 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
    const luminance = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
    const found = new Set();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        // A name as a logotype is exempt, and so is what cannot be used now.
        if (!texts.currentNode.textContent.trim() || !element.checkVisibility()) continue;
        if (element.closest(".brand, .sr-only, :disabled")) continue;
        const chain = [];
        for (let each = element; each; each = each.parentElement) chain.push(getComputedStyle(each));
        const opaque = chain.findIndex(each => read(each.backgroundColor)[3] === 1);
        const back = chain.slice(0, opaque + 1).map(each => read(each.backgroundColor)).reverse()
            .reduce((below, above) => over(above, below), [255, 255, 255]);
        const ink = read(element.namespaceURI.includes("svg") ? chain[0].fill : chain[0].color);
        ink[3] *= chain.reduce((whole, each) => whole * Number(each.opacity), 1);
        const [high, low] = [luminance(over(ink, back)), luminance(back)].sort((a, b) => b - a);
        const ratio = (high + 0.05) / (low + 0.05);
        if (ratio < 4.5) found.add(`${element.tagName} ${element.className} ${ratio.toFixed(2)}`);
    }
    return [...found];
}"""
"""Texts whose contrast is below what WCAG 2.2 asks for at level AA."""


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_texts_have_contrast(tab: Tab, recorded: Path, colours: Literal["light", "dark"]) -> None:
    page = tab.page
    page.emulate_media(color_scheme=colours)
    tab.open(recorded, "#view=graph&hide=cold&select=1")
    page.wait_for_selector(".panel h2 code")
    for key in "234561":
        page.keyboard.press(key)
        page.wait_for_timeout(120)
        assert page.evaluate(CONTRAST) == []


def test_browser_too_old_says_so(tab: Tab, report: Path) -> None:
    tab.page.add_init_script("delete window.DecompressionStream")
    tab.page.goto(report.as_uri())
    tab.page.wait_for_selector("text=too old to unpack the report")


def test_page_without_scripts_says_so(browser: Browser, report: Path) -> None:
    page = browser.new_context(java_script_enabled=False, offline=True).new_page()
    page.goto(report.as_uri())
    assert "This report needs JavaScript" in page.inner_text("body")
    page.context.close()


def test_all_of_a_view_is_printed(tab: Tab, report: Path) -> None:
    page = tab.open(report, "#view=findings")
    page.wait_for_selector(".card")
    page.emulate_media(media="print", color_scheme="dark")
    page.wait_for_timeout(200)  # the page draws itself anew for other colours
    last = page.locator(".card").last.bounding_box()
    assert last is not None
    height = page.evaluate("document.documentElement.scrollHeight")
    assert 800 < last["y"] + last["height"] <= height
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(20, 32, 43)"
    assert page.pdf(format="A4").count(b"/Type /Page\n") > 1


def test_all_of_a_graph_is_printed(tab: Tab, report: Path) -> None:
    page = tab.open(report, "#view=graph")
    page.wait_for_selector(".panel h2")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    picture = page.locator(".printed")
    assert picture.locator("path").count() > 20
    box = picture.bounding_box()
    assert box is not None
    assert box["width"] > 600
    assert not page.locator(".graph-canvas canvas").first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert picture.count() == 0


def test_large_reports_keep_little_in_the_page(tab: Tab, tmp_path: Path) -> None:
    """How fast this is, ``benchmarks/page.py`` measures."""
    file = tmp_path / "large.html"
    write_report(large.launches(), [], file)
    assert file.stat().st_size < LARGEST
    page = tab.open(file)
    page.wait_for_selector(".lrow:not(.head)")
    assert page.locator(".lrow:not(.head)").count() < 60
    page.locator(".vl").focus()
    page.keyboard.press("End")
    page.wait_for_selector(".lrow.focused[aria-rowindex='2001']")
    page.evaluate("location.hash = 'view=graph&launch=large%2F1&select=500'")
    page.wait_for_selector(".panel h2 code")
    assert page.locator(".panel h2").inner_text() == f"0x{16 * 500:04x}"
    page.keyboard.press("Escape")
    page.wait_for_selector("text=The 60 heaviest of 1,000")
    assert page.evaluate("document.querySelectorAll('#app *').length") < 2000
    page.keyboard.press("4")
    page.wait_for_selector(".card")
    assert page.locator(".card").count() <= 100
