"""The keyboard, screen readers, light and dark, small windows and large files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.report.html import write_report
from reference import large

if TYPE_CHECKING:
    from pathlib import Path

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


def test_nothing_overflows_at_1280_pixels(tab: Tab, report: Path) -> None:
    page = tab.open(report)
    for key in "123456":
        page.keyboard.press(key)
        page.wait_for_timeout(80)
        assert page.evaluate("document.documentElement.scrollWidth") == 1280
        assert page.evaluate("document.documentElement.scrollHeight") == 800


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
