"""Makes the pictures of the browser report that README, ``docs/gui.md`` and ``docs/tutorial.md`` show.

They come from recordings of a GPU.

make screenshots
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from cuvein.collect.replay import replay
from cuvein.profile import read_all
from cuvein.report.html import write_report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
TRACES = ROOT / "tests/golden/traces"
CASES = ROOT / "tests/golden/cases"
IMAGES = ROOT / "docs/images"
RECORDINGS = ("softmax", "softmax_racy", "async_copy", "histogram", "matmul", "stencil", "transpose")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
# File, kernel, place in the page, colours.
PICTURES = (
    ("gui-launches", "softmax", "view=launches", "light"),
    ("gui-graph", "softmax", "view=graph", "light"),
    ("gui-node", "stencil", "view=graph&select=2", "dark"),
    ("gui-source", "softmax", "view=source&select=4", "light"),
    ("gui-findings", "softmax_racy", "view=findings&finding=0", "light"),
)
# The same of the tutorial's case.
CASE = "alignment"
KERNEL = "align"
TUTORIAL = (
    ("tutorial-findings", KERNEL, "view=findings&finding=0", "light"),
    ("tutorial-graph", KERNEL, "view=graph&select=27", "light"),
)


GO = """([kernel, place]) => {
    const {index} = window.cuvein.store;
    const launch = index.launches.find((each) => index.kernels[each.kernel].short === kernel);
    location.hash = `${place}&launch=${launch.id}`;
}"""


def main() -> None:
    """Make all of them."""
    browser_path = shutil.which("chromium")
    if browser_path is None:
        sys.exit("The pictures need chromium: apt-get install chromium")
    # So that warnings name files as seen from the repository.
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        examples, before = Path(name) / "examples", Path(name) / "before"
        for recording in RECORDINGS:
            (examples / recording).mkdir(parents=True)
            replay(TRACES / f"{recording}.cvt", examples / recording)
        take(browser, examples, PICTURES, 800)
        before.mkdir()
        replay(CASES / f"{CASE}-before.cvt", before)
        # High enough for the distributions of the selected instruction.
        take(browser, before, TUTORIAL, 1000)
        browser.close()


def take(
    browser: Browser, profiles: Path, pictures: Sequence[tuple[str, str, str, str]], height: int
) -> None:
    """Make a report of the profiles and take pictures of it, so many pixels high."""
    file = profiles.with_suffix(".html")
    write_report(read_all(profiles), [profiles], file, roots=[Path()])
    for picture, kernel, place, colours in pictures:
        page = browser.new_page(viewport={"width": 1280, "height": height}, color_scheme=colours)
        page.goto(f"{file.as_uri()}")
        page.wait_for_selector(".lrow:not(.head)")
        page.evaluate(GO, [kernel, place])
        page.wait_for_timeout(400)
        page.screenshot(path=IMAGES / f"{picture}.png")
        page.close()


if __name__ == "__main__":
    main()
