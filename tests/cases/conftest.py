"""Every case is put to the engine, for several numbers of workers, and to the reference model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from cuvein.profile import violations
from reference import engine
from reference.graph import Graph, graph_of
from reference.model import analyse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cuvein.profile.model import Launch
    from reference.records import Record


class Analyse(Protocol):
    """Makes the graph of each launch, in the order given."""

    def __call__(self, launches: Sequence[Launch], records: Iterable[Record]) -> list[Graph]:
        """Analyse ``records`` of all ``launches``."""


def _by_model(launches: Sequence[Launch], records: Iterable[Record]) -> list[Graph]:
    models = analyse(launches, records)
    return [models[launch.sequence].graph for launch in launches]


def _by_engine(workers: int) -> Analyse:
    def run(launches: Sequence[Launch], records: Iterable[Record]) -> list[Graph]:
        profiles = engine.profiles(launches, records, workers)
        for profile in profiles.values():
            assert violations(profile) == []
        return [graph_of(profiles[launch.sequence]) for launch in launches]

    return run


@pytest.fixture(
    params=["model", 1, 2, 7], ids=lambda value: f"{value}-workers" if value != "model" else "model"
)
def analysed(request: pytest.FixtureRequest) -> Analyse:
    """Return a function that makes graphs."""
    return _by_model if request.param == "model" else _by_engine(request.param)
