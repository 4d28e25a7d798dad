"""Makes the pictures of the browser report that README and ``docs/gui.md`` show, from recordings of a GPU.

make screenshots
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from cuvein.collect.replay import replay
from cuvein.profile import read_all
from cuvein.report.html import write_report

ROOT = Path(__file__).parents[2]
TRACES = ROOT / "tests/golden/traces"
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
        folder = Path(name) / "examples"
        for recording in RECORDINGS:
            (folder / recording).mkdir(parents=True)
            replay(TRACES / f"{recording}.cvt", folder / recording)
        file = Path(name) / "report.html"
        write_report(read_all(folder), [folder], file, roots=[Path()])
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        for picture, kernel, place, colours in PICTURES:
            page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=colours)
            page.goto(f"{file.as_uri()}")
            page.wait_for_selector(".lrow:not(.head)")
            page.evaluate(GO, [kernel, place])
            page.wait_for_timeout(400)
            page.screenshot(path=IMAGES / f"{picture}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
