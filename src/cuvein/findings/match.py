"""A pattern's match over the launches of a kernel, and the matches that are copies of one source line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cuvein.patterns import Description, Effect

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cuvein.graph import Totals
    from cuvein.patterns import Pattern, Place, Severity
    from cuvein.source import DataObject, Origin

__all__ = ["PROFILES_NAMED", "Match", "united"]

PROFILES_NAMED = 8


@dataclass(slots=True)
class Match:
    """One pattern at one set of places of one kernel and shape, over launches.

    From ``weight`` to ``objects`` it is about the launch in which the match weighs most.
    """

    pattern: Pattern
    variant: str
    launches: int
    removal: list[Totals]
    profiles: list[str]
    weight: tuple[int, ...]
    description: Description
    places: tuple[Place, ...]
    leads: int | None
    scope: str | None
    highest: Severity | None
    milder: bool
    caveat: str | None
    objects: dict[DataObject, int]
    # Of all launches, as far as it was recorded.
    launched: Counter[Origin]


def united(matches: Iterable[Match]) -> list[Match]:
    """Return matches with those made one that are of the same source lines.

    Unrolling a loop makes many instructions of a line, each with its own place in the graph. One edit answers
    them all, so they are one finding: what they remove adds up, the words are those of the heaviest. Matches
    without line information stay as they are, and so do hazards, which are about pairs of accesses, and
    barriers, each of which has its own answer.
    """
    groups: dict[object, list[Match]] = {}
    for position, match in enumerate(matches):
        groups.setdefault(_lines(match) or position, []).append(match)
    return [_one(group) if len(group) > 1 else group[0] for group in groups.values()]


def _lines(match: Match) -> tuple[object, ...] | None:
    """Return what is equal for copies: pattern and source lines, with what happens there."""
    if match.pattern.effect is Effect.CORRECTS:
        return None
    kinds = set()
    for place in match.places:
        if place.source is None or place.space == "barrier":
            return None
        kinds.add((place.function, place.source, place.space, place.type))
    return (
        match.pattern.name,
        match.variant,
        match.scope,
        match.highest,
        match.milder,
        match.caveat,
        frozenset(kinds),
    )


def _objects(group: Sequence[Match]) -> dict[DataObject, int]:
    amounts: Counter[DataObject] = Counter()
    for each in group:
        amounts.update(each.objects)
    return dict(amounts.most_common())


def _one(group: Sequence[Match]) -> Match:
    # Of equally heavy copies the first in the code speaks.
    ordered = sorted(group, key=lambda each: [place.pc for place in each.places])
    heaviest = max(ordered, key=lambda each: each.weight)
    what = "instructions" if len(heaviest.places) == 1 else "groups of instructions"
    lines = len({place.source for place in heaviest.places})
    where = "the same source line" if lines == 1 else "the same source lines"
    return replace(
        heaviest,
        launches=max(each.launches for each in group),
        removal=[part for each in ordered for part in each.removal],
        objects=_objects(ordered),
        launched=max(ordered, key=lambda each: each.launches).launched,
        profiles=list(dict.fromkeys(name for each in ordered for name in each.profiles))[:PROFILES_NAMED],
        places=tuple(place for each in ordered for place in each.places),
        description=Description(
            f"{heaviest.description.summary} These numbers are of one of {len(group):,} {what} of {where}.",
            {**heaviest.description.evidence, "copies": len(group)},
        ),
    )
