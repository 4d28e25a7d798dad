"""The report by operator: what each operator of PyTorch, or each call that launches, does to memory."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.text import Text

from cuvein.report import numbers, style
from cuvein.report.listing import Listing, Row, Section, kind_name
from cuvein.report.origins import by_or_at, launches_text, origin_document, origin_text
from cuvein.report.summary import access_of, labels_of, summarise
from cuvein.report.tally import AccessKind, Tally
from cuvein.source import launched_at, short, traffic_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cuvein.profile.model import LaunchProfile
    from cuvein.source import Origin

__all__ = ["OperatorDocument", "OperatorGroup", "OperatorReport", "by_operator"]

FORMAT = "cuvein report by operator"
VERSION = 1
_PLACES, _OBJECTS, _KERNELS = 3, 3, 3


@dataclass
class OperatorGroup:
    """The launches of one operator, or, outside operators, of one place.

    Attributes
    ----------
    operators
        Operators and backward functions, outermost first; empty outside PyTorch.
    launched
        Where, with the number of launches; ``None`` when that was not recorded.
    kernels
        Launches by name of the kernel.
    objects
        Bytes of global memory by data object, as reports name it.
    kinds
        The sums by kind of access.
    """

    operators: tuple[str, ...]
    launched: Counter[Origin | None] = field(default_factory=Counter)
    kernels: Counter[str] = field(default_factory=Counter)
    objects: Counter[str] = field(default_factory=Counter)
    kinds: dict[AccessKind, Tally] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Bytes accessed in all spaces."""
        return sum(tally.bytes for tally in self.kinds.values())

    @property
    def name(self) -> str:
        """The operators, or what is known instead."""
        if self.operators:
            return " > ".join(self.operators)
        origin = next(iter(self.launched), None)
        if origin is None:
            return "launches whose call site was not recorded"
        return f"no operator, {origin.place}" if origin.place else "no operator, a place that is not known"

    def add(self, profile: LaunchProfile, origin: Origin | None) -> None:
        """Add a launch."""
        self.launched[origin] += 1
        self.kernels[profile.launch.kernel.name] += 1
        for traffic in traffic_of(profile):
            self.objects[traffic.object.title] += traffic.bytes
        labels = labels_of(profile)
        for node in profile.nodes:
            kind = AccessKind(node.space, node.type, node.size, node.asynchronous)
            self.kinds.setdefault(kind, Tally()).add(access_of(node, labels[node.id]))


def by_operator(profiles: Iterable[LaunchProfile]) -> list[OperatorGroup]:
    """Group launches by operator, those with most bytes first."""
    collected = _Collected()
    for _ in collected.watch(profiles):
        pass
    return collected.ordered()


class OperatorReport:
    """The report by operator as text.

    Parameters
    ----------
    listing
        Writes the text.
    """

    def __init__(self, listing: Listing) -> None:
        self._listing = listing

    def render(self, profiles: Iterable[LaunchProfile]) -> str:
        """Make the report; see :class:`cuvein.report.Report`."""
        collected = _Collected()
        summary = summarise(collected.watch(profiles))
        groups = collected.ordered()
        return self._listing.render(summary, "Operators by bytes accessed", groups, _section, _notes(groups))


class OperatorDocument:
    """The report by operator as JSON."""

    def render(self, profiles: Iterable[LaunchProfile]) -> str:
        """Make the report; see :class:`cuvein.report.Report`."""
        groups = [_group(group) for group in by_operator(profiles)]
        return json.dumps({"format": FORMAT, "version": VERSION, "operators": groups}, indent=2) + "\n"


class _Collected:
    """Collects operators from launches on their way to somebody else."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], OperatorGroup] = {}

    def watch(self, profiles: Iterable[LaunchProfile]) -> Iterator[LaunchProfile]:
        for profile in profiles:
            origin = launched_at(profile.launch)
            operators = origin.operators if origin else ()
            # Outside PyTorch the call that launches says most.
            key = operators or (origin.place if origin else None,)
            self._groups.setdefault(key, OperatorGroup(operators)).add(profile, origin)
            yield profile

    def ordered(self) -> list[OperatorGroup]:
        return sorted(self._groups.values(), key=lambda group: (-group.bytes, group.name))


def _notes(groups: list[OperatorGroup]) -> list[str]:
    notes: dict[str, None] = {}
    if any(None in group.launched for group in groups):
        notes["call sites are recorded by 'cuvein run --call-sites'"] = None
    for group in groups:
        for origin in group.launched:
            if origin is not None and origin.note is not None:
                notes[origin.note] = None
    return list(notes)


def _section(group: OperatorGroup, whole: int) -> Section:
    heading = Text(style.printable(group.name), "bold")
    heading.append(f"  {numbers.percent(group.bytes, whole)} of all bytes", "dim")
    launches = sum(group.launched.values())
    names = [style.printable(short(name)) for name, _ in group.kernels.most_common(_KERNELS)]
    more = f" and {len(group.kernels) - _KERNELS} more" if len(group.kernels) > _KERNELS else ""
    details = [
        Text(f"{launches_text(launches)} of {', '.join(names)}{more}", "dim"),
    ]
    for origin, count in group.launched.most_common(_PLACES):
        if origin is None or origin.place is None:
            continue
        if group.operators or origin_text(origin) != str(origin.place):
            ranges = f", in {' / '.join(origin.ranges)}" if origin.ranges else ""
            times = f", {launches_text(count)}" if len(group.launched) > 1 else ""
            word = by_or_at(origin)
            details.append(Text(style.printable(f"launched {word} {origin.where}{ranges}{times}")))
    for title, size in group.objects.most_common(_OBJECTS):
        details.append(Text(f"{numbers.amount(size)} in {style.printable(title)}", "dim"))
    return Section(heading, details, _rows(group))


def _rows(group: OperatorGroup) -> list[Row]:
    ordered = sorted(group.kinds.items(), key=lambda item: (-item[1].bytes, item[0]))
    return [
        Row(kind_name(kind), tally, kind.space in ("shared", "distributed_shared")) for kind, tally in ordered
    ]


def _group(group: OperatorGroup) -> dict[str, Any]:
    return {
        "operators": list(group.operators),
        "launched_at": [
            {**(origin_document(origin) or {}), "launches": launches}
            for origin, launches in group.launched.most_common()
        ],
        "kernels": [{"name": name, "launches": launches} for name, launches in group.kernels.most_common()],
        "objects": [{"name": title, "bytes": size} for title, size in group.objects.most_common()],
        "bytes": group.bytes,
        "accesses": [
            {**kind._asdict(), **tally.document()}
            for kind, tally in sorted(group.kinds.items(), key=lambda item: (-item[1].bytes, item[0]))
        ],
    }
