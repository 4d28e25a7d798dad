"""The browser, without a network, and reports to open in it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from cuvein.collect.replay import replay
from cuvein.profile import read_all, write, write_process
from cuvein.report.html import write_report
from golden import trace_file
from reference import engine
from reference.sample import LAUNCH, SUMMARY

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))

from harness import simulated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from cuvein.profile import LaunchProfile

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def simulate(
    sequence: int, name: str, program: simulated.Program, blocks: int, warps: int, **changes: object
) -> LaunchProfile:
    """Analyse a simulated kernel as one launch of a run."""
    stream = simulated.records(simulated.schedule(blocks, warps, program, 1), {})
    kernel = msgspec.structs.replace(
        LAUNCH.kernel, name=f"{name}(float const*, float*, int)", mangled=f"_Z{len(name)}{name}PKfPfi"
    )
    function = msgspec.structs.replace(LAUNCH.functions[0], name=kernel.name, mangled=kernel.mangled)
    launch = msgspec.structs.replace(
        LAUNCH, kernel=kernel, functions=[function], grid=(blocks, 1, 1), block=(32 * warps, 1, 1)
    )
    profile = engine.profiles([launch], stream, workers=1)[LAUNCH.sequence]
    launch = msgspec.structs.replace(profile.launch, sequence=sequence, **changes)
    return msgspec.structs.replace(profile, id=f"host-1-2/{sequence}", launch=launch)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with launches of several kernels, one of them with a race."""
    folder = tmp_path_factory.mktemp("run")
    process = folder / "process-17"
    process.mkdir()
    launches = [
        simulate(1, "softmax_rows", simulated.softmax(512), 2, 8),
        simulate(2, "softmax_rows", simulated.softmax(512, racy=True), 2, 8),
        simulate(3, "stencil", simulated.stencil(32), 4, 8),
        simulate(4, "histogram", simulated.histogram_global(spread=False), 3, 8),
        simulate(5, "pipeline", simulated.async_copy(4), 2, 4),
    ]
    for profile in launches:
        write(profile, process / f"launch-{profile.launch.sequence:06}.json")
    write_process(
        msgspec.structs.replace(SUMMARY, problems=["a problem of the run"]), process / "process.json"
    )
    return folder


@pytest.fixture(scope="session")
def report(run: Path) -> Path:
    """Return the page of the run."""
    file = run / "report.html"
    write_report(read_all(run), [run], file)
    return file


@pytest.fixture(scope="session")
def recorded_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of two recordings from a GPU, replayed."""
    folder = tmp_path_factory.mktemp("recorded")
    for name in ("softmax", "async_copy"):
        (folder / name).mkdir()
        replay(trace_file(name), folder / name)
    return folder


@pytest.fixture(scope="session")
def recorded(recorded_run: Path) -> Path:
    """Return the page of two recordings from a GPU, with the source of the examples."""
    file = recorded_run / "report.html"
    write_report(read_all(recorded_run), [recorded_run], file, roots=[Path(__file__).parents[2]])
    return file


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return a browser without a window."""
    api = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    if CHROMIUM is None:
        pytest.skip("the browser tests need chromium: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Tab:
    """A page that must not reach for the network nor complain on its console."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._requested)

    def _requested(self, request: object) -> None:
        url: str = request.url  # type: ignore[attr-defined]
        if not url.startswith(("file:", "blob:", "data:")):
            self.complaints.append(f"request of {url}")

    def until(self, expression: str) -> None:
        """Wait for something to come true. The page's policy forbids what the browser's own waiting needs."""
        for _ in range(200):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(f"never came true: {expression}")

    def open(self, file: Path, place: str = "") -> Page:
        """Open a file at a place in it, and wait until something is shown."""
        self.page.goto("about:blank")
        self.page.goto(f"{file.as_uri()}{place}")
        self.page.wait_for_selector("#main > *")
        return self.page


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """Return a page of a browser that is offline; the test fails if it complained."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, offline=True, accept_downloads=True
    )
    context.set_default_timeout(10_000)
    tab = Tab(context.new_page())
    yield tab
    context.close()
    assert tab.complaints == []
