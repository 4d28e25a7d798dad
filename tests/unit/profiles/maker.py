"""Hand-made launch profiles for tests: say the nodes and edges, the rest is filled in."""

# ruff: noqa: A001, A002  (the words of the profile)

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from cuvein.findings import Analysis
from cuvein.graph import Graph
from cuvein.profile.invariants import violations
from cuvein.profile.model import (
    FORMAT,
    VERSION,
    AllocationTraffic,
    Barrier,
    Coverage,
    Device,
    Edge,
    Function,
    HiddenHazard,
    Kernel,
    Launch,
    LaunchProfile,
    Node,
    Process,
    Versions,
)

if TYPE_CHECKING:
    from cuvein.patterns import Finding


class Maker:
    """Collects nodes and edges; ``profile()`` makes the launch profile."""

    def __init__(
        self, kernel: str = "kernel(float *)", mangled: str | None = None, grid=(4, 1, 1), block=(128, 1, 1)
    ):
        self.kernel = kernel
        self.mangled = mangled or kernel
        self.grid, self.block = grid, block
        self.nodes: list[dict] = []
        self.edges: list[Edge] = []
        self.barriers: list[Barrier] = []
        self.hidden_hazards: list[HiddenHazard] = []
        self.incomplete: str | None = None

    def node(
        self,
        type="read",
        space="global",
        size=4,
        executions=16,
        lanes=32,
        *,
        pc=None,
        addresses=None,
        sectors=None,
        words=None,
        wavefronts=None,
        ideal=None,
        asynchronous=False,
        bytes=None,
    ) -> int:
        """Add a node whose executions all look alike, or differ as given by ``{value: executions}``."""

        def histogram(value):
            if value is None:
                return []
            if isinstance(value, dict):
                return sorted(value.items())
            return [(value, executions)]

        shared = space == "shared"
        identifier = len(self.nodes)
        lanes_histogram = histogram(lanes)
        if addresses is None and not shared:
            addresses = lanes
        if sectors is None and not shared:
            sectors = max(1, (lanes if isinstance(lanes, int) else max(lanes)) * size // 32)
        if words is None and shared:
            words = (lanes if isinstance(lanes, int) else max(lanes)) * max(1, size // 4)
        if wavefronts is None and shared:
            wavefronts = max(1, words // 32) if isinstance(words, int) else 1
        if ideal is None and shared:
            ideal = max(1, -(-words // 32)) if isinstance(words, int) else 1
        self.nodes.append(
            {
                "id": identifier,
                "function": 0,
                "pc": 16 * (identifier + 1) if pc is None else pc,
                "space": space,
                "type": type,
                "size": size,
                "asynchronous": asynchronous,
                "executions": executions,
                "bytes": sum(value * count for value, count in lanes_histogram) * size
                if bytes is None
                else bytes,
                "lanes": lanes_histogram,
                "addresses": histogram(addresses),
                "sectors": histogram(sectors),
                "words": histogram(words),
                "wavefronts": histogram(wavefronts),
                "ideal_wavefronts": histogram(ideal),
                "allocations": [],
            }
        )
        return identifier

    def edge(self, node, origin, label, bytes=None, unordered=None) -> None:
        """Add an edge; without ``bytes`` it takes what is left of the node's."""
        if bytes is None:
            bytes = self.nodes[node]["bytes"] - sum(edge.bytes for edge in self.edges if edge.node == node)
        self.edges.append(Edge(node, origin, label, bytes, -(-bytes // self.nodes[node]["size"]), unordered))

    def cold(self, node, bytes=None) -> None:
        self.edge(node, None, "cold", bytes)

    def profile(self, sequence=1) -> LaunchProfile:
        sums = defaultdict(int)
        for edge in self.edges:
            sums[edge.node] += edge.bytes
        for node in self.nodes:
            missing = node["bytes"] - sums[node["id"]]
            assert missing >= 0, f"node {node['id']} has more edge bytes than bytes"
            if missing:
                self.cold(node["id"], missing)
        accesses = defaultdict(int)
        unknown = 0
        for node in self.nodes:
            accesses[node["space"]] += node["executions"]
            if node["space"] == "global":
                node["allocations"] = [AllocationTraffic(None, node["bytes"])]
                unknown += node["bytes"]
        profile = LaunchProfile(
            format=FORMAT,
            version=VERSION,
            id=f"test-{sequence}",
            engine="host",
            incomplete=self.incomplete,
            process=Process("test", 1, "/bin/program", [], Versions("0.1.0")),
            launch=Launch(
                sequence=sequence,
                kernel=Kernel(self.kernel, self.mangled, "00"),
                grid=self.grid,
                block=self.block,
                cluster=None,
                shared_bytes=(0, 0),
                device=Device(0, "GPU", (9, 0), 132),
                context=1,
                stream=0,
                functions=[Function(self.kernel, self.mangled, 0, 16 * (len(self.nodes) + 2))],
                allocations=[],
            ),
            coverage=Coverage(dict(accesses), [], unknown, 0),
            nodes=[Node(**node) for node in self.nodes],
            edges=sorted(self.edges, key=lambda e: (e.node, -1 if e.origin is None else e.origin, e.label)),
            barriers=self.barriers,
            hidden_hazards=self.hidden_hazards,
        )
        # A profile no engine could have made proves nothing.
        assert violations(profile) == []
        return profile

    def graph(self, sequence=1) -> Graph:
        return Graph(self.profile(sequence))

    def findings(self, pattern=None, thresholds=None) -> list[Finding]:
        """Analyse the profile and return the findings, of one pattern if named."""
        analysis = Analysis(thresholds)
        analysis.add(self.graph())
        return [each for each in analysis.report().findings if pattern in (None, each.pattern)]
