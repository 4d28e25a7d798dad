"""Times the browser report of a large run in headless Chromium; prints JSON, times in milliseconds.

    python benchmarks/page.py

First view: from opening the file until the launches are shown. Interactions: from the event until the browser
has drawn the next frame, the median and the largest of 15 each, on a graph of 1,000 nodes and 10,000 edges.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from cuvein.report.html import write_report  # noqa: E402
from reference import large  # noqa: E402

TIMES = 15
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
STEP = """name => new Promise(done => {
    const canvas = document.querySelector(".graph-canvas"), at = window.cuvein.locate(500);
    const event = {clientX: at.x, clientY: at.y, deltaY: -1, bubbles: true, cancelable: true};
    const chosen = window.cuvein.state.selection[0] === 500 ? 501 : 500;
    const start = performance.now();
    if (name === "hover") canvas.dispatchEvent(new PointerEvent("pointermove", event));
    if (name === "zoom") canvas.dispatchEvent(new WheelEvent("wheel", event));
    if (name === "filter") document.querySelectorAll(".toggle")[1].click();
    if (name === "select") location.hash = `view=graph&launch=large%2F1&select=${chosen}`;
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0));
})"""


def main() -> None:
    """Print the times."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415
    except ModuleNotFoundError:
        sys.exit("This needs playwright: make setup installs it")
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("This needs chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "large.html"
        start = time.perf_counter()
        write_report(large.launches(), [], file)
        result: dict[str, object] = {
            "date": datetime.date.today().isoformat(),
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[0], 1),
            "write_ms": round((time.perf_counter() - start) * 1000),
            "bytes": file.stat().st_size,
        }
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        result["chromium"] = browser.version
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        start = time.perf_counter()
        page.goto(file.as_uri())
        page.wait_for_selector(".lrow:not(.head)")
        result["first_view_ms"] = round((time.perf_counter() - start) * 1000)
        start = time.perf_counter()
        page.evaluate("location.hash = 'view=graph&launch=large%2F1'")
        page.wait_for_selector(".panel h2")
        result["graph_ms"] = round((time.perf_counter() - start) * 1000)
        for name in ("hover", "zoom", "filter", "select"):
            times = []
            for _ in range(TIMES):
                times.append(page.evaluate(STEP, name))
                page.wait_for_timeout(150)
            result[f"{name}_ms"] = [round(statistics.median(times), 1), round(max(times), 1)]
        browser.close()
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
