"""Files dropped on the page, damaged ones and hostile ones among them."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import msgspec
import pytest

from cuvein.graph import load
from cuvein.profile import encode, read_all, write
from cuvein.report.html import page as make_page
from cuvein.report.html import write_report
from cuvein.report.view import graph_view
from cuvein.report.view_model import Index
from reference import engine, generator
from reference.sample import PROFILE

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from web.conftest import Tab

HOSTILE = [
    "<script>window.broken = 1</script>",
    "</script><img src=x onerror='window.broken = 1'>",
    '" onmouseover="window.broken = 1" \'`${1}',
    "kernel<" * 1250,
    "\u202eevil\u202c \u0645\u0631\u062d\u0628\u0627",
    "nul\u0001\ufffe and <b>bold</b> & &amp;",
]


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """Return the page as it comes, without a report in it."""
    file = tmp_path / "empty.html"
    index = Index("", "", [], {}, [], [], [], [], [])
    file.write_bytes(make_page(index, []))
    return file


def drop(page: Page, *files: tuple[str, bytes]) -> None:
    page.evaluate(
        """files => {
            const data = new DataTransfer();
            for (const [name, text] of files) {
                data.items.add(new File([Uint8Array.from(atob(text), c => c.charCodeAt(0))], name));
            }
            for (const type of ["dragenter", "dragover", "drop"]) {
                const options = {dataTransfer: data, bubbles: true, cancelable: true};
                document.body.dispatchEvent(new DragEvent(type, options));
            }
        }""",
        [(name, base64.b64encode(data).decode()) for name, data in files],
    )


def test_dropped_profile_is_shown(tab: Tab, empty: Path, run: Path) -> None:
    page = tab.open(empty)
    assert "No profiles yet" in page.inner_text("main")
    drop(page, ("launch-000003.json", (run / "process-17/launch-000003.json").read_bytes()))
    page.wait_for_selector(".panel h2")
    assert page.locator(".panel h2").inner_text().startswith("stencil")
    page.keyboard.press("4")
    page.wait_for_selector("text=Bare launch profiles carry no findings")


def test_dropped_view_has_findings(tab: Tab, empty: Path, run: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.cuvein.json"
    write_report(read_all(run), [run], file)
    page = tab.open(empty)
    drop(page, (file.name, file.read_bytes()))
    page.wait_for_selector(".lrow:not(.head)")
    assert page.locator(".lrow:not(.head)").count() == 5
    page.keyboard.press("4")
    page.wait_for_selector(".card")


def test_dropped_profile_joins_the_report(tab: Tab, report: Path) -> None:
    page = tab.open(report)
    drop(page, ("mine.json", encode(PROFILE)))
    tab.until("window.cuvein.store.index.launches.length === 5")
    other = msgspec.structs.replace(PROFILE, id="another")
    drop(page, ("mine.json", encode(other)))
    tab.until("window.cuvein.store.index.launches.length === 6")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is not valid JSON, or was cut off"),
        (b'{"format": "cuvein launch profile", "version": 1', "is not valid JSON, or was cut off"),
        (b'{"format": "other"}', "is neither a launch profile nor a view"),
        (b"[1, 2]", "is neither a launch profile nor a view"),
        (b"null", "is neither a launch profile nor a view"),
        (b'{"format": "cuvein launch profile", "version": 99}', "is of a later version"),
        (b'{"format": "cuvein launch profile", "version": 1}', "does not have the fields"),
        (b'{"format": "cuvein launch profile", "version": 0}', "does not say of which version"),
        (b'{"format": "cuvein view", "version": 1}', "does not have the fields"),
        (b'{"format": "cuvein view", "version": 1, "index": {}, "parts": []}', "does not have the fields"),
        (
            encode(PROFILE).replace(b'"compute_capability"', b'"other"').replace(b'"id":"', b'"id":"new-', 1),
            "does not have the fields",
        ),
    ],
)
def test_files_that_cannot_be_used_are_named(tab: Tab, report: Path, content: bytes, told: str) -> None:
    page = tab.open(report)
    drop(page, ("bad.json", content))
    page.wait_for_selector(".message:not([hidden])")
    assert page.locator(".message").inner_text().startswith("bad.json")
    assert told in page.locator(".message").inner_text()
    # What was shown before is shown still, in all views.
    for key in "234561":
        page.keyboard.press(key)
        page.wait_for_timeout(40)
    assert page.locator(".lrow:not(.head)").count() == 5


@pytest.mark.parametrize(
    "path",
    [
        ("index", "kernels", 0, "short"),
        ("index", "launches", 0, "grid", 0),
        ("index", "launches", 0, "device", "multiprocessors"),
        ("index", "launches", 0, "traffic"),
        ("index", "thresholds", "race-bytes"),
        ("parts", 0, "coverage", "accesses", "shared"),
        ("parts", 0, "coverage", "lost_records"),
    ],
)
def test_view_with_a_field_of_another_type_is_named(
    tab: Tab, report: Path, run: Path, tmp_path: Path, path: tuple[str | int, ...]
) -> None:
    file = tmp_path / "run.cuvein.json"
    write_report(read_all(run), [run], file)
    document = place = json.loads(file.read_bytes())
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = {"a": 1}
    page = tab.open(report)
    drop(page, ("bad.json", json.dumps(document).encode()))
    page.wait_for_selector(".message:not([hidden])")
    told = page.locator(".message").inner_text()
    where = ".".join(map(str, path))
    assert told.startswith(f"bad.json does not have the fields that its format asks for ({where}")


OPENED = """async texts => {
    const problems = [];
    for (const text of texts) {
        problems.push((await window.cuvein.store.open([new File([text], "bad.json")])).problems.join(" "));
    }
    return problems;
}"""


def fields(
    document: object, path: tuple[str | int, ...] = ()
) -> dict[tuple[str, ...], tuple[str | int, ...]]:
    """Give the first place of each field, by its place with all positions in lists alike."""
    inside = document.items() if isinstance(document, dict) else []
    inside = enumerate(document) if isinstance(document, list) else inside
    found: dict[object, tuple[str | int, ...]] = {
        tuple("*" if isinstance(step, int) else step for step in path): path
    }
    for step, value in inside:
        found = fields(value, (*path, step)) | found
    return found


def changed(document: object, path: tuple[str | int, ...], value: object) -> str:
    """Write a document with another value at a place."""
    copy = place = json.loads(json.dumps(document))
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(copy)


def test_no_field_of_a_file_can_have_another_type(
    tab: Tab, report: Path, recorded_run: Path, tmp_path: Path
) -> None:
    file = tmp_path / "run.cuvein.json"
    write_report(read_all(recorded_run), [recorded_run], file, roots=[Path(__file__).parents[2]])
    view = json.loads(file.read_bytes())
    profile = json.loads(encode(msgspec.structs.replace(PROFILE, id="another")))
    texts, places = [], []
    for document in (view, profile):
        for path in fields(document).values():
            # What a finding rests on may be numbers and texts.
            if path in ((), ("format",), ("version",)) or "evidence" in path:
                continue
            value = document
            for step in path:
                value = value[step]
            other = 1.5 if isinstance(value, str) else {"a": 1} if value is None else "no"
            texts.append(changed(document, path, other))
            places.append(".".join(map(str, path)))
    assert len(places) > 150
    page = tab.open(report)
    told = page.evaluate(OPENED, texts)
    wrong = [
        (place, problem)
        for place, problem in zip(places, told, strict=True)
        if not problem.startswith("bad.json does not have the fields that its format asks for")
    ]
    assert wrong == []
    assert page.evaluate("window.cuvein.store.index.launches.length") == 5
    assert page.evaluate(OPENED, [json.dumps(profile), json.dumps(view)]) == ["", ""]


@pytest.mark.usefixtures("report")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("index", "launches", 0, "kernel"), 99),
        (("index", "launches", 0, "process"), -1),
        (("index", "launches", 0, "graph"), 10**9),
        (("index", "launches", 0, "findings"), [99]),
        (("index", "findings", 0, "kernel"), 99),
        (("index", "kernels", 0, "code"), 99),
        (("parts", 0, "nodes", 0, "function"), 5),
        (("parts", 0, "nodes", 0, "weights"), [1]),
        (("parts", 0, "edges", 0, 0), 99),
        (("parts", 0, "edges", 0, 1), 99),
        (("parts", 0, "edges", 0, 2), 7),
        (("parts", 0, "groups", 0, "nodes"), [99]),
    ],
)
def test_view_that_points_to_what_is_not_there_is_named(
    tab: Tab, run: Path, tmp_path: Path, path: tuple[str | int, ...], value: object
) -> None:
    file = tmp_path / "run.cuvein.json"
    write_report(read_all(run), [run], file)
    text = changed(json.loads(file.read_bytes()), path, value)
    (problem,) = tab.open(run / "report.html").evaluate(OPENED, [text])
    assert problem.startswith("bad.json does not have the fields that its format asks for (")


@pytest.mark.parametrize("seed", range(3))
def test_page_works_out_what_python_works_out(tab: Tab, empty: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    chooser = SimpleNamespace(integer=chance.randint)
    stream = generator.generate(chooser, 120)
    for profile in engine.profiles(stream.launches, stream.records, workers=1).values():
        file = tmp_path / f"launch-{profile.launch.sequence:06}.json"
        write(profile, file)
        page = tab.open(empty)
        drop(page, (file.name, file.read_bytes()))
        tab.until("window.cuvein.store.index.launches.length === 1")
        derived = page.evaluate("window.cuvein.store.graph(window.cuvein.store.index.launches[0].graph)")
        graph = load(file)
        expected = json.loads(msgspec.json.encode(graph_view(graph)))
        assert [group["nodes"] for group in derived["groups"]] == [
            group["nodes"] for group in expected["groups"]
        ]
        assert [group["weights"] for group in derived["groups"]] == [
            group["weights"] for group in expected["groups"]
        ]
        assert derived["edges"] == expected["edges"]
        for here, there in zip(derived["nodes"], expected["nodes"], strict=True):
            assert {name: here.get(name) for name in there} == there
        row = page.evaluate("window.cuvein.store.index.launches[0]")
        totals = graph.totals
        assert (row["instructions"], row["sectors"], row["wavefronts"]) == (
            totals.instructions,
            totals.sectors,
            totals.wavefronts,
        )


@pytest.mark.parametrize("name", HOSTILE, ids=["script", "image", "quotes", "long", "bidi", "control"])
def test_names_are_text_and_nothing_else(tab: Tab, tmp_path: Path, name: str) -> None:
    kernel = msgspec.structs.replace(PROFILE.launch.kernel, name=name, mangled=name)
    functions = [msgspec.structs.replace(PROFILE.launch.functions[0], name=name, mangled=name)]
    allocations = [msgspec.structs.replace(PROFILE.launch.allocations[0], name=name)]
    device = msgspec.structs.replace(PROFILE.launch.device, name=name)
    launch = msgspec.structs.replace(
        PROFILE.launch, kernel=kernel, functions=functions, allocations=allocations, device=device
    )
    process = msgspec.structs.replace(PROFILE.process, executable=name, arguments=[name, name])
    profile = msgspec.structs.replace(PROFILE, launch=launch, process=process, incomplete=f"missing {name}")
    file = tmp_path / "launch-000001.json"
    write(profile, file)
    write_report(read_all(file), [file], tmp_path / "report.html")
    page = tab.open(tmp_path / "report.html")
    for key in "123456":
        page.keyboard.press(key)
        page.wait_for_timeout(60)
        assert page.locator("#app script, #app img").count() == 0
        assert "bold" not in page.locator("#app b").all_text_contents()
    page.keyboard.press("2")
    page.wait_for_selector(".panel h2")
    page.evaluate("window.dispatchEvent(new Event('resize'))")
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    picture = download.value.path().read_text()
    foreign = (
        "t => new DOMParser().parseFromString(t, 'image/svg+xml')"
        ".querySelector('parsererror, script, img')?.outerHTML"
    )
    assert page.evaluate(foreign, picture) is None
    assert page.evaluate("window.broken") is None
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_damaged_page_says_so(tab: Tab, report: Path, tmp_path: Path) -> None:
    text = report.read_text()
    place = text.index('id="cuvein-index">') + 200
    file = tmp_path / "damaged.html"
    file.write_text(text[:place] + "AAAA" + text[place + 4 :])
    tab.page.goto(file.as_uri())
    tab.page.wait_for_selector("text=This report is damaged")
