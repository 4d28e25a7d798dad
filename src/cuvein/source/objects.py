"""Data objects: which allocations the nodes of a graph touch, and how much of each."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuvein.source.call_sites import Origin, made_at
from cuvein.source.names import demangle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.profile.model import Allocation, LaunchProfile, Node

__all__ = ["DataObject", "ObjectTraffic", "name_of", "objects_of", "touched", "traffic_of"]

# Spaces whose addresses lie in allocations.
IN_ALLOCATIONS = ("global",)
# How the name of a tensor begins that an operator has made and given back while it ran.
_TEMPORARY = "temporary of "


@dataclass(frozen=True)
class DataObject:
    """An allocation, or (``index`` is ``None``) all memory that no known allocation covers.

    Attributes
    ----------
    index
        Into ``launch.allocations``.
    name
        Its variable, what kind of array it is (``float32[16, 64]``), or what kind of memory and where.
    size
        In bytes, ``None`` when not known.
    origin
        Where it was made, ``None`` when that was not recorded.
    """

    index: int | None
    name: str
    kind: str
    address: int | None
    size: int | None
    origin: Origin | None = None

    @property
    def title(self) -> str:
        """The name with the place where it was made: ``float32[16, 64] of train.py:31 in forward``."""
        made = str(self.origin) if self.origin is not None else ""
        return f"{self.name} of {made}" if made else self.name

    @property
    def known(self) -> bool:
        """Whether more is known than its kind and address."""
        return self.origin is not None or not (self.index is None or self.name.endswith(f"{self.address:#x}"))

    @property
    def key(self) -> tuple[object, ...]:
        """What makes objects of several launches one.

        An address may serve another allocation in a later launch, so size and name count too. Tensors that
        are made anew, by the same call, in the same shape, are one whatever their address.
        """
        made = self.origin is not None and bool(self.origin.place or self.origin.operators)
        address = None if self.kind == "tensor" and made else self.address
        return address, self.size, self.kind, self.name, self.origin if made else None


@dataclass(frozen=True)
class ObjectTraffic:
    """What a set of nodes did to one object.

    Attributes
    ----------
    bytes
        All bytes accessed, every lane counted.
    footprint
        Distinct bytes whose first access in the launch was by these nodes: at least and at most this many.
        Both are equal, and exact, unless a node touched several objects.
    nodes
        The nodes that touched the object, by id, with their bytes there; most bytes first.
    """

    object: DataObject
    bytes: int
    footprint: tuple[int, int]
    nodes: dict[int, int]

    @property
    def share(self) -> float | None:
        """Footprint over the object's size, ``None`` when either is not exact."""
        least, most = self.footprint
        if least != most or not self.object.size:
            return None
        return least / self.object.size


def name_of(allocation: Allocation | None) -> str:
    """Name an allocation by what is known of it: its variable, its shape, else its kind and address."""
    if allocation is None:
        return "memory outside known allocations"
    if allocation.name and not allocation.name.startswith(_TEMPORARY):
        return demangle(allocation.name)
    if allocation.dtype is not None and allocation.shape is not None:
        return f"{allocation.dtype}{allocation.shape}"
    if allocation.kind == "tensor":
        return f"{allocation.name or 'tensor'} ({allocation.size:,} bytes, shape not known)"
    kinds = {
        "unknown": "allocation",
        "device": "device allocation",
        "pool": "pool allocation",
        "mapped": "mapped memory",
        "managed": "managed allocation",
        "host_mapped": "host memory",
        "module": "module memory",
        "device_heap": "device heap",
        "peer": "peer allocation",
    }
    return f"{kinds[allocation.kind]} at {allocation.address:#x}"


def objects_of(profile: LaunchProfile) -> list[DataObject]:
    """Give the launch's allocations as objects, in the profile's order."""
    return [_object(profile, index) for index in range(len(profile.launch.allocations))]


def touched(profile: LaunchProfile, nodes: Iterable[Node]) -> dict[DataObject, int]:
    """Say which objects nodes touched, with the bytes there, most first; none outside global memory."""
    amounts: dict[int | None, int] = defaultdict(int)
    for node in nodes:
        if node.space in IN_ALLOCATIONS:
            for index, amount in _parts(node).items():
                amounts[index] += amount
    ordered = sorted(amounts, key=lambda key: (-amounts[key], key is None, key or 0))
    return {_object(profile, index): amounts[index] for index in ordered}


def traffic_of(profile: LaunchProfile, nodes: Iterable[int] | None = None) -> list[ObjectTraffic]:
    """Say what nodes did to which objects.

    Parameters
    ----------
    profile
        The launch.
    nodes
        Ids of the nodes, for instance those of a closed subgraph; by default all.

    Returns
    -------
    One entry for each object touched, by bytes, most first. Shared and local memory are in no allocation and
    are left out.
    """
    wanted = None if nodes is None else set(nodes)
    cold: dict[int, int] = defaultdict(int)
    for edge in profile.edges:
        if edge.label == "cold":
            cold[edge.node] += edge.bytes
    total: dict[int | None, int] = defaultdict(int)
    least: dict[int | None, int] = defaultdict(int)
    most: dict[int | None, int] = defaultdict(int)
    by_node: dict[int | None, list[tuple[int, int]]] = defaultdict(list)
    for node in profile.nodes:
        if node.space not in IN_ALLOCATIONS or (wanted is not None and node.id not in wanted):
            continue
        parts = _parts(node)
        for index, amount in parts.items():
            total[index] += amount
            by_node[index].append((-amount, node.id))
            # Cold bytes are known for the node as a whole: what cannot lie in its other objects lies here.
            elsewhere = sum(parts.values()) - amount
            least[index] += max(cold[node.id] - elsewhere, 0)
            most[index] += min(cold[node.id], amount)
    found = []
    for index in sorted(total, key=lambda key: (-total[key], key is None, key or 0)):
        data_object = _object(profile, index)
        ceiling = most[index] if data_object.size is None else min(most[index], data_object.size)
        found.append(
            ObjectTraffic(
                object=data_object,
                bytes=total[index],
                footprint=(least[index], max(ceiling, least[index])),
                nodes={node: -amount for amount, node in sorted(by_node[index])},
            )
        )
    return found


def _parts(node: Node) -> dict[int | None, int]:
    """Give the node's bytes by allocation; what the profile does not attribute goes to ``None``."""
    parts: dict[int | None, int] = defaultdict(int)
    for part in node.allocations:
        if part.bytes:
            parts[part.allocation] += part.bytes
    rest = node.bytes - sum(parts.values())
    if rest > 0:
        parts[None] += rest
    return dict(parts)


def _object(profile: LaunchProfile, index: int | None) -> DataObject:
    if index is None or not 0 <= index < len(profile.launch.allocations):
        return DataObject(None, name_of(None), "unknown", None, None)
    allocation = profile.launch.allocations[index]
    return DataObject(
        index,
        name_of(allocation),
        allocation.kind,
        allocation.address,
        allocation.size,
        made_at(profile.launch, allocation),
    )
