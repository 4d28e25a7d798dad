"""Recordings of the microbenchmarks, made on a real GPU, replay to the graphs derived for them."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import msgspec
import pytest

import golden
from cuvein.profile import violations
from cuvein.source import Locator, ModuleStore, TraceModules

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from micro import expectations, graph

FOLDER = Path(__file__).parents[1] / "golden" / "micro"
MANIFEST = FOLDER / "manifest.json"
RECORDED = json.loads(MANIFEST.read_text())["recordings"] if MANIFEST.exists() else {}

pytestmark = pytest.mark.skipif(
    not RECORDED, reason="nothing recorded yet: python benchmarks/micro --record tests/golden/micro, on a GPU"
)


def trace(program: str) -> Path:
    return FOLDER / f"{program}.cvt"


@pytest.mark.parametrize("program", expectations.programs(recorded=True))
def test_recording_is_of_the_program_as_it_is_now(program: str) -> None:
    """Else: python benchmarks/micro --record tests/golden/micro, on a machine with a GPU."""
    if program not in RECORDED:
        pytest.skip(
            f"{program} is not recorded: python benchmarks/micro --record tests/golden/micro, on a GPU"
        )
    entry = RECORDED[program]
    assert entry["kernels"] == [known.word for known in expectations.programs(recorded=True)[program]]
    source = expectations.source(program).read_bytes()
    assert entry["source_sha256"] == hashlib.sha256(source).hexdigest(), f"{program}.cu has changed"
    assert entry["trace_sha256"] == hashlib.sha256(trace(program).read_bytes()).hexdigest()


def test_recordings_are_of_known_programs_and_small() -> None:
    assert RECORDED.keys() <= expectations.programs(recorded=True).keys()
    assert sum(trace(name).stat().st_size for name in RECORDED) < 3 << 19


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("program", RECORDED)
def test_replay_gives_the_derived_graphs(program: str, workers: int) -> None:
    profiles = golden.replayed(trace(program), workers)
    locator = Locator(ModuleStore(sources=[TraceModules(trace(program))]))
    benchmarks = expectations.programs(recorded=True)[program]
    assert len(profiles) == len(benchmarks)
    for profile, entry in zip(profiles, benchmarks, strict=True):
        names = graph.lines(profile, locator, expectations.source(program))
        assert profile.incomplete is None
        assert violations(profile) == []
        assert graph.differences(profile, names, entry.graph) == [], entry.word


def test_comparison_notices_what_differs() -> None:
    """Whatever number of a profile is changed, it is seen."""
    (profile, *_) = golden.replayed(trace("widths"), 1)
    locator = Locator(ModuleStore(sources=[TraceModules(trace("widths"))]))
    names = graph.lines(profile, locator, expectations.source("widths"))
    entry = expectations.programs()["widths"][0]
    node, edge = profile.nodes[0], profile.edges[-1]
    replace = msgspec.structs.replace
    changed = [
        *(
            replace(profile, nodes=[replace(node, **change), *profile.nodes[1:]])
            for change in (
                {"size": 2},
                {"executions": node.executions + 1},
                {"bytes": node.bytes + 1},
                {"asynchronous": True},
                {"lanes": [(31, node.executions)]},
                {"addresses": [(31, node.executions)]},
                {"sectors": [(5, node.executions)]},
                {"words": [(5, node.executions)]},
                {"type": "atomic"},
                {"space": "local"},
            )
        ),
        *(
            replace(profile, edges=[*profile.edges[:-1], replace(edge, **change)])
            for change in (
                {"bytes": edge.bytes + 1},
                {"count": edge.count + 1},
                {"label": "block"},
                {"unordered": 4},
            )
        ),
        replace(profile, edges=profile.edges[:-1]),
        replace(profile, edges=[*profile.edges, edge]),
    ]
    assert graph.differences(profile, names, entry.graph) == []
    assert [other for other in changed if not graph.differences(other, names, entry.graph)] == []
    assert graph.differences(profile, ["?"] * len(names), entry.graph) != []
