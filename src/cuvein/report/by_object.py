"""The report by data object: what happens to each allocation of the program."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.text import Text

from cuvein.report import numbers, style
from cuvein.report.listing import Listing, Row, Section
from cuvein.report.origins import by_or_at, origin_document, origin_text
from cuvein.report.summary import access_of, labels_of, summarise
from cuvein.report.tally import Tally
from cuvein.source import short, traffic_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cuvein.profile.model import LaunchProfile, TypeName
    from cuvein.source import DataObject

__all__ = ["ObjectDocument", "ObjectGroup", "ObjectReport", "by_object"]

FORMAT = "cuvein report by object"
VERSION = 1


@dataclass
class ObjectGroup:
    """An allocation and what the launches did to it.

    Attributes
    ----------
    launches
        How many launches touched it.
    footprints
        For each of them the distinct bytes it touched: at least, at most. The two are equal when exact.
    alone
        Sums over instructions that touched this object only, by kernel and type of access.
    mixed
        Bytes here of instructions that touched other objects too, by kernel and type. Their labels are not
        known for each object.
    """

    object: DataObject
    process: str
    launches: int = 0
    footprints: list[tuple[int, int]] = field(default_factory=list)
    alone: dict[tuple[str, TypeName], Tally] = field(default_factory=dict)
    mixed: Counter[tuple[str, TypeName]] = field(default_factory=Counter)

    @property
    def bytes(self) -> int:
        """Bytes accessed, every lane counted."""
        return sum(tally.bytes for tally in self.alone.values()) + self.mixed.total()

    @property
    def footprint(self) -> tuple[int, int]:
        """The footprint of the launch that touched most."""
        return max(self.footprints, key=lambda footprint: (footprint[1], footprint[0]))


def by_object(profiles: Iterable[LaunchProfile]) -> list[ObjectGroup]:
    """Group the accesses of launches by allocation, those with most bytes first."""
    collected = _Collected()
    for _ in collected.watch(profiles):
        pass
    return collected.ordered()


class ObjectReport:
    """The report by data object as text.

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
        notes = [] if groups else ["no launch touched global memory"]
        return self._listing.render(summary, "Data objects by bytes accessed", groups, _section, notes)


class ObjectDocument:
    """The report by data object as JSON."""

    def render(self, profiles: Iterable[LaunchProfile]) -> str:
        """Make the report; see :class:`cuvein.report.Report`."""
        groups = [_group(group) for group in by_object(profiles)]
        return json.dumps({"format": FORMAT, "version": VERSION, "objects": groups}, indent=2) + "\n"


class _Collected:
    """Collects objects from launches on their way to somebody else."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], ObjectGroup] = {}

    def watch(self, profiles: Iterable[LaunchProfile]) -> Iterator[LaunchProfile]:
        for profile in profiles:
            self._add(profile)
            yield profile

    def ordered(self) -> list[ObjectGroup]:
        return sorted(self._groups.values(), key=lambda group: (-group.bytes, group.object.name))

    def _add(self, profile: LaunchProfile) -> None:
        nodes = {node.id: node for node in profile.nodes}
        labels = labels_of(profile)
        kernel = profile.launch.kernel.name
        for traffic in traffic_of(profile):
            data_object = traffic.object
            key = profile.process.id, *data_object.key
            group = self._groups.setdefault(key, ObjectGroup(data_object, profile.process.id))
            group.launches += 1
            group.footprints.append(traffic.footprint)
            for identifier, amount in traffic.nodes.items():
                node = nodes[identifier]
                if amount == node.bytes:
                    tally = group.alone.setdefault((kernel, node.type), Tally())
                    tally.add(access_of(node, labels[identifier]))
                else:
                    group.mixed[kernel, node.type] += amount


def _section(group: ObjectGroup, whole: int) -> Section:
    data_object = group.object
    heading = Text(style.printable(data_object.name), "bold")
    if data_object.size is not None:
        heading.append(f"  {numbers.amount(data_object.size)}")
    heading.append(f"  {numbers.percent(group.bytes, whole)} of all bytes in global memory", "dim")
    launches = f"touched by {group.launches:,} launch{'' if group.launches == 1 else 'es'}"
    rows = [
        *((group.alone[key].bytes, Row(_row_name(key), group.alone[key])) for key in group.alone),
        *((size, Row(f"{_row_name(key)} + others", Tally(bytes=size))) for key, size in group.mixed.items()),
    ]
    ordered = sorted(rows, key=lambda row: (-row[0], row[1].name))
    details = [Text(f"{launches}, {_footprint(group)}", "dim")]
    origin = data_object.origin
    made = origin_text(origin)
    if origin is not None and made:
        details.insert(0, Text(f"made {by_or_at(origin)} {made}"))
    return Section(heading, details, [row for _, row in ordered])


def _row_name(key: tuple[str, TypeName]) -> str:
    kernel, kind = key
    return f"{kind} {short(kernel, 40)}"


def _footprint(group: ObjectGroup) -> str:
    least, most = group.footprint
    which = "" if group.launches == 1 else ", in the launch that touched most"
    if least != most:
        return f"footprint between {numbers.amount(least)} and {numbers.amount(most)}{which}"
    size = group.object.size
    share = f", {numbers.percent(most, size)} of the object" if size else ""
    return f"footprint {numbers.amount(most)}{share}{which}"


def _group(group: ObjectGroup) -> dict[str, Any]:
    data_object, (least, most) = group.object, group.footprint
    return {
        "name": data_object.name,
        "kind": data_object.kind,
        "process": group.process,
        "address": data_object.address,
        "size": data_object.size,
        "made_at": origin_document(data_object.origin),
        "launches": group.launches,
        "bytes": group.bytes,
        "footprint": {"least": least, "most": most},
        "accesses": [
            {"kernel": kernel, "type": kind, **tally.document()}
            for (kernel, kind), tally in group.alone.items()
        ],
        "with_other_objects": [
            {"kernel": kernel, "type": kind, "bytes": size} for (kernel, kind), size in group.mixed.items()
        ],
    }
