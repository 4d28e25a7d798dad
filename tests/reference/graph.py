"""The graph as plain dictionaries, to compare the model's with a profile's and to look things up by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from cuvein.vocabulary import AccessType, Label, Space

if TYPE_CHECKING:
    from cuvein.profile.model import LaunchProfile

__all__ = ["Barrier", "Edge", "Graph", "Key", "Node", "differences", "graph_of"]

# (pc from the entry of the kernel, space, type)
Key = tuple[int, Space, AccessType]
# address and size of an allocation, or None for bytes in none
Region = tuple[int, int] | None


@dataclass
class Node:
    """What is known of one program counter in one space. Distributions map a value to its executions."""

    size: int = 0
    asynchronous: bool = False
    executions: int = 0
    bytes: int = 0
    lanes: Counter[int] = field(default_factory=Counter)
    addresses: Counter[int] = field(default_factory=Counter)
    sectors: Counter[int] = field(default_factory=Counter)
    words: Counter[int] = field(default_factory=Counter)
    wavefronts: Counter[int] = field(default_factory=Counter)
    ideal_wavefronts: Counter[int] = field(default_factory=Counter)
    allocations: Counter[Region] = field(default_factory=Counter)


@dataclass
class Edge:
    """Bytes, lane accesses and unordered bytes of one edge."""

    bytes: int = 0
    count: int = 0
    unordered: int | None = None


@dataclass
class Barrier:
    """What synchronises threads at one program counter."""

    executions: int = 0
    ordered_bytes: int | None = None


@dataclass
class Graph:
    """One launch. Edges are keyed by (node, origin or None for untracked, label), hazards by their ends."""

    nodes: dict[Key, Node] = field(default_factory=lambda: defaultdict(Node))
    edges: dict[tuple[Key, Key | None, Label], Edge] = field(default_factory=lambda: defaultdict(Edge))
    barriers: dict[tuple[int, str], Barrier] = field(default_factory=lambda: defaultdict(Barrier))
    hidden_hazards: Counter[tuple[Key, Key]] = field(default_factory=Counter)
    accesses: Counter[Space] = field(default_factory=Counter)
    not_analysed: Counter[str] = field(default_factory=Counter)
    unknown_bytes: int = 0

    def node(self, pc: int) -> Node:
        """Return the only node at ``pc``."""
        (found,) = (node for key, node in self.nodes.items() if key[0] == pc)
        return found

    def out(self, pc: int) -> dict[tuple[int | None, str], int]:
        """Return the bytes of the out-edges of the nodes at ``pc``, by the origin's PC and the label."""
        found: Counter[tuple[int | None, str]] = Counter()
        for (key, origin, label), edge in self.edges.items():
            if key[0] == pc:
                found[None if origin is None else origin[0], label.name.lower()] += edge.bytes
        return dict(found)

    def edge(self, pc: int, origin: int | None, label: str) -> Edge:
        """Return the only edge from ``pc`` to ``origin`` of that label."""
        (found,) = (
            edge
            for (key, target, name), edge in self.edges.items()
            if key[0] == pc and (target and target[0]) == origin and name.name.lower() == label
        )
        return found

    def hidden(self) -> dict[tuple[int, int], int]:
        """Return the bytes of the hidden hazards by the PCs of the later and the earlier access."""
        return {(key[0], origin[0]): count for (key, origin), count in self.hidden_hazards.items()}

    def bytes_by_label(self) -> dict[str, int]:
        """Return the bytes of all edges by label."""
        found: Counter[str] = Counter()
        for (_, _, label), edge in self.edges.items():
            found[label.name.lower()] += edge.bytes
        return dict(found)


def graph_of(profile: LaunchProfile) -> Graph:
    """Take the graph out of a profile; the order of its nodes and edges is checked on the way."""
    launch = profile.launch
    graph = Graph(
        accesses=Counter({Space[name.upper()]: n for name, n in profile.coverage.accesses.items() if n}),
        not_analysed=Counter(
            {entry.instruction: entry.executions for entry in profile.coverage.not_analysed}
        ),
        unknown_bytes=profile.coverage.unknown_bytes,
    )
    keys: list[Key] = []
    for node in profile.nodes:
        pc = launch.functions[node.function].offset + node.pc
        keys.append((pc, Space[node.space.upper()], AccessType[node.type.upper()]))
        regions: Counter[Region] = Counter()
        for part in node.allocations:
            allocation = None if part.allocation is None else launch.allocations[part.allocation]
            regions[None if allocation is None else (allocation.address, allocation.size)] += part.bytes
        graph.nodes[keys[-1]] = Node(
            size=node.size,
            asynchronous=node.asynchronous,
            executions=node.executions,
            bytes=node.bytes,
            lanes=Counter(dict(node.lanes)),
            addresses=Counter(dict(node.addresses)),
            sectors=Counter(dict(node.sectors)),
            words=Counter(dict(node.words)),
            wavefronts=Counter(dict(node.wavefronts)),
            ideal_wavefronts=Counter(dict(node.ideal_wavefronts)),
            allocations=regions,
        )
    order = [
        (edge.node, -1 if edge.origin is None else edge.origin, Label[edge.label.upper()])
        for edge in profile.edges
    ]
    assert keys == sorted(set(keys)), "nodes are sorted by (pc, space, type)"
    assert order == sorted(set(order)), "edges are sorted by (node, origin, label)"
    for edge, (node_index, _, label) in zip(profile.edges, order, strict=True):
        origin = None if edge.origin is None else keys[edge.origin]
        graph.edges[keys[node_index], origin, label] = Edge(edge.bytes, edge.count, edge.unordered)
    for hazard in profile.hidden_hazards:
        graph.hidden_hazards[keys[hazard.node], keys[hazard.origin]] = hazard.bytes
    assert profile.barriers is not None, "this engine knows the barriers"
    sites = [(launch.functions[each.function].offset + each.pc, each.kind) for each in profile.barriers]
    kinds = ("block", "warp", "cluster", "mbarrier")
    assert sites == sorted(set(sites), key=lambda site: (site[0], kinds.index(site[1]))), (
        "barriers are sorted"
    )
    for site, barrier in zip(sites, profile.barriers, strict=True):
        graph.barriers[site] = Barrier(barrier.executions, barrier.ordered_bytes)
    return graph


def differences(found: Graph, right: Graph) -> list[str]:
    """Say in what the graphs differ, so that a failure can be read."""
    told = []
    for key in sorted({*found.nodes, *right.nodes}):
        mine, theirs = found.nodes.get(key, Node()), right.nodes.get(key, Node())
        told += [
            f"node {key}: {field.name} {getattr(mine, field.name)}, not {getattr(theirs, field.name)}"
            for field in fields(Node)
            if getattr(mine, field.name) != getattr(theirs, field.name)
        ]
    for name in sorted({*found.edges, *right.edges}, key=repr):
        edge, other = found.edges.get(name), right.edges.get(name)
        if edge != other:
            told.append(f"edge {name}: {edge}, not {other}")
    for site in sorted({*found.barriers, *right.barriers}):
        barrier, its = found.barriers.get(site), right.barriers.get(site)
        if barrier != its:
            told.append(f"barrier {site}: {barrier}, not {its}")
    for what in ("hidden_hazards", "accesses", "not_analysed", "unknown_bytes"):
        if getattr(found, what) != getattr(right, what):
            told.append(f"{what}: {getattr(found, what)}, not {getattr(right, what)}")
    return told
