"""What must hold in every launch profile, as functions that say in sentences what does not.

:func:`dangling` looks at references only: a profile that passes can be walked without surprises, so reading
insists on it. :func:`violations` adds the arithmetic; the tests demand it of every profile any engine makes.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cuvein.profile.model import Edge, Histogram, LaunchProfile, Node

__all__ = ["dangling", "unbalanced", "violations"]

_LABELS: dict[str, frozenset[str]] = {
    "global": frozenset({"cold", "thread", "warp_same_inst", "warp_diff_inst", "block", "cluster", "grid"}),
    "shared": frozenset({"cold", "thread", "warp_same_inst", "warp_diff_inst", "block"}),
    "local": frozenset({"cold", "thread"}),
    "distributed_shared": frozenset(
        {"cold", "thread", "warp_same_inst", "warp_diff_inst", "block", "cluster"}
    ),
}
_ORDERED_LABELS = frozenset({"warp_diff_inst", "block", "cluster", "grid"})
_GLOBAL_LIKE = ("addresses", "sectors")
_SHARED_LIKE = ("words", "wavefronts", "ideal_wavefronts")
# Distributions of each space; the others must be empty. "May": recorded where the hardware's layout is known.
_MUST = {
    "global": ("lanes", *_GLOBAL_LIKE),
    "local": ("lanes", *_GLOBAL_LIKE),
    "shared": ("lanes", *_SHARED_LIKE),
    "distributed_shared": ("lanes",),
}
_MAY = {"distributed_shared": _SHARED_LIKE}
_DISTRIBUTIONS = ("lanes", *_GLOBAL_LIKE, *_SHARED_LIKE)
_LARGEST = {
    "lanes": 32,
    "addresses": 32,
    "sectors": 64,
    "words": 160,
    "wavefronts": 64,
    "ideal_wavefronts": 8,
}


def dangling(profile: LaunchProfile) -> list[str]:
    """Say which references of ``profile`` lead nowhere.

    Returns
    -------
    list of str
        One clause for each fault, without a full stop; empty when all is well.
    """
    return list(_dangling(profile))


def unbalanced(profile: LaunchProfile) -> list[str]:
    """Say which nodes have numbers that no run gives: none of their own, or others than their edges.

    Cheap enough for every profile that is read; :func:`violations` has all that must hold.

    Returns
    -------
    list of str
        One clause for each fault, without a full stop; empty when all is well.
    """
    edges = [0] * len(profile.nodes)
    for edge in profile.edges:
        edges[edge.node] += edge.bytes
    faults = [
        f"{_name(node)} was never executed or accessed no bytes"
        for node in profile.nodes
        if not node.executions or not node.bytes
    ]
    if profile.incomplete is None:
        faults += [
            _imbalance(node, total)
            for node, total in zip(profile.nodes, edges, strict=True)
            if node.bytes != total
        ]
    return faults


def violations(profile: LaunchProfile, distinct_bytes: Mapping[str, int] | None = None) -> list[str]:
    """Say which invariants ``profile`` violates (``docs/profile-format.md``, "What always holds").

    Parameters
    ----------
    profile : LaunchProfile
        A complete profile. One that is marked incomplete must hold them too, as far as it goes.
    distinct_bytes : mapping of str to int, optional
        Distinct bytes that the launch touched in each space, where the caller knows them: the cold bytes of
        the space must be the same number. Shared bytes are distinct for each block, local ones for each
        thread, and memory that was allocated again counts again.

    Returns
    -------
    list of str
        One clause for each violation, without a full stop; empty when all is well.
    """
    faults = dangling(profile)
    if faults:
        return faults
    out = defaultdict(list)
    for edge in profile.edges:
        out[edge.node].append(edge)
    for node in profile.nodes:
        faults.extend(_node_faults(node, out[node.id]))
    for edge in profile.edges:
        faults.extend(_edge_faults(profile, edge))
    faults.extend(_hazard_faults(profile))
    faults.extend(_barrier_faults(profile))
    faults.extend(_coverage_faults(profile))
    if distinct_bytes is not None:
        faults.extend(_cold_faults(profile, distinct_bytes))
    return faults


def _dangling(profile: LaunchProfile) -> Iterator[str]:
    functions, allocations = len(profile.launch.functions), len(profile.launch.allocations)
    if not functions:
        yield "the launch has no functions, not even the kernel"
    for index, node in enumerate(profile.nodes):
        if node.id != index:
            yield f"the node at place {index} has id {node.id}"
        if node.function >= functions:
            yield f"node {node.id} is in function {node.function}, but there are {functions}"
        for traffic in node.allocations:
            if traffic.allocation is not None and traffic.allocation >= allocations:
                yield f"node {node.id} names allocation {traffic.allocation}, but there are {allocations}"
    for barrier in profile.barriers or []:
        if barrier.function >= functions:
            yield f"a barrier is in function {barrier.function}, but there are {functions}"
    yield from _dangling_sites(profile)
    count = len(profile.nodes)
    for edge in profile.edges:
        if edge.node >= count:
            yield f"an edge starts at node {edge.node}, but there are {count} nodes"
        if edge.origin is not None and edge.origin >= count:
            yield f"an edge of node {edge.node} ends at node {edge.origin}, but there are {count} nodes"
        if (edge.origin is None) != (edge.label == "cold"):
            has = "no" if edge.origin is None else "an"
            yield f"a {edge.label} edge of node {edge.node} has {has} origin"

    for hazard in profile.hidden_hazards:
        if max(hazard.node, hazard.origin) >= count:
            yield (
                f"a hidden hazard lies between node {hazard.node} and node {hazard.origin}, but there are "
                f"{count} nodes"
            )


def _dangling_sites(profile: LaunchProfile) -> Iterator[str]:
    launch = profile.launch
    sites, modules = len(launch.sites), len(launch.host_modules)
    if launch.site is not None and launch.site >= sites:
        yield f"the launch names call site {launch.site}, but there are {sites}"
    for index, allocation in enumerate(launch.allocations):
        if allocation.site is not None and allocation.site >= sites:
            yield f"allocation {index} names call site {allocation.site}, but there are {sites}"
        parent = allocation.parent
        if parent is None:
            continue
        if parent >= len(launch.allocations) or launch.allocations[parent].parent is not None:
            yield f"allocation {index} lies in allocation {parent}, which is no allocation of its own"
    for site in launch.sites:
        for other in (site.forward, site.caller):
            if other is not None and other >= sites:
                yield f"a call site names call site {other}, but there are {sites}"
        for frame in site.native:
            if frame.module is not None and frame.module >= modules:
                yield f"a call names file {frame.module}, but there are {modules}"


def _name(node: Node) -> str:
    return f"node {node.id} ({node.space} {node.type} at {node.pc})"


def _imbalance(node: Node, total: int) -> str:
    return f"{_name(node)} accessed {node.bytes} bytes, its edges hold {total}"


def _node_faults(node: Node, out: list[Edge]) -> Iterator[str]:
    name = _name(node)
    total = sum(edge.bytes for edge in out)
    if total != node.bytes:
        yield _imbalance(node, total)
    if not node.executions:
        yield f"{name} was never executed"
    must, may = _MUST[node.space], _MAY.get(node.space, ())
    for kind in _DISTRIBUTIONS:
        histogram: Histogram = getattr(node, kind)
        if not histogram and kind not in must:
            continue
        if kind not in must and kind not in may:
            yield f"{name} has a distribution of {kind}, which {node.space} accesses do not have"
            continue
        # A thread's words of local memory do not lie side by side: 32 lanes with up to 4 words each.
        largest = 128 if (node.space, kind) == ("local", "sectors") else _LARGEST[kind]
        yield from _histogram_faults(f"{name}: the distribution of {kind}", histogram, node, largest)
    lane_accesses = sum(value * count for value, count in node.lanes)
    if not lane_accesses <= node.bytes <= lane_accesses * node.size:
        yield f"{name} accessed {node.bytes} bytes in {lane_accesses} lane accesses of {node.size} bytes"
    if sum(edge.count for edge in out) < lane_accesses:
        yield f"{name} made {lane_accesses} lane accesses, its edges count fewer"
    if node.space == "global":
        traffic = sum(part.bytes for part in node.allocations)
        if traffic != node.bytes:
            yield f"{name} accessed {node.bytes} bytes, its allocations hold {traffic}"
        if len({part.allocation for part in node.allocations}) != len(node.allocations):
            yield f"{name} names an allocation twice"
    elif node.allocations:
        yield f"{name} names allocations, which {node.space} memory does not have"


def _histogram_faults(name: str, histogram: Histogram, node: Node, largest: int) -> Iterator[str]:
    total = sum(count for _, count in histogram)
    if total != node.executions:
        yield f"{name} sums to {total}, not to the {node.executions} executions"
    values = [value for value, _ in histogram]
    if any(later <= earlier for earlier, later in pairwise(values)):
        yield f"{name} is not in ascending order"
    if values and not 1 <= min(values) <= max(values) <= largest:
        yield f"{name} holds values outside 1 to {largest}"


def _edge_faults(profile: LaunchProfile, edge: Edge) -> Iterator[str]:
    node = profile.nodes[edge.node]
    origin = None if edge.origin is None else profile.nodes[edge.origin]
    target = "untracked" if edge.origin is None else edge.origin
    name = f"the {edge.label} edge from node {edge.node} to {target}"
    if edge.label not in _LABELS[node.space]:
        yield f"{name} has a label that {node.space} memory does not allow"
    if edge.label == "cluster" and profile.launch.cluster is None:
        yield f"{name} has a label that needs clusters, which the launch does not have"
    if edge.label == "warp_same_inst" and edge.origin != edge.node:
        yield f"{name} must lead back to its own node"
    if origin is not None and "local" in {node.space, origin.space} and node.space != origin.space:
        yield f"{name} leaves local memory"
    if origin is not None and {node.space, origin.space} in (
        {"global", "shared"},
        {"global", "distributed_shared"},
    ):
        yield f"{name} leads from {node.space} to {origin.space} memory"
    if not 1 <= edge.count <= edge.bytes <= edge.count * node.size:
        yield f"{name} holds {edge.bytes} bytes in {edge.count} lane accesses of up to {node.size} bytes"
    if edge.unordered is not None:
        copied = (
            edge.label == "thread" and origin is not None and origin.asynchronous and origin.type == "write"
        )
        if edge.label not in _ORDERED_LABELS and not copied:
            yield f"{name} states unordered bytes, which have no meaning there"
        elif origin is not None and node.type == origin.type and node.type != "write":
            yield f"{name} states unordered bytes between two {node.type}s"
        if edge.unordered > edge.bytes:
            yield f"{name} has {edge.bytes} bytes, {edge.unordered} of them unordered"


def _hazard_faults(profile: LaunchProfile) -> Iterator[str]:
    for hazard in profile.hidden_hazards:
        node, origin = profile.nodes[hazard.node], profile.nodes[hazard.origin]
        name = f"the hidden hazard of node {hazard.node} with node {hazard.origin}"
        if {node.space, origin.space} != {"shared"}:
            yield f"{name} is not in shared memory"
        if node.type == origin.type and node.type != "write":
            yield f"{name} lies between two {node.type}s"
        if hazard.bytes > node.bytes:
            yield f"{name} holds {hazard.bytes} bytes, the node accessed {node.bytes}"
    keys = [(hazard.node, hazard.origin) for hazard in profile.hidden_hazards]
    if keys != sorted(set(keys)):
        yield "the hidden hazards are not in the order of their nodes, each pair once"


def _barrier_faults(profile: LaunchProfile) -> Iterator[str]:
    barriers = profile.barriers or []
    for barrier in barriers:
        name = f"the {barrier.kind} barrier at {barrier.pc}"
        if not barrier.executions:
            yield f"{name} was never executed"
        if barrier.ordered_bytes is not None and barrier.kind != "block":
            yield f"{name} states ordered bytes, which only block barriers have"
    keys = [(barrier.function, barrier.pc, barrier.kind) for barrier in barriers]
    if len(set(keys)) != len(keys):
        yield "two barriers have the same place and kind"


def _coverage_faults(profile: LaunchProfile) -> Iterator[str]:
    executions: dict[str, int] = defaultdict(int)
    for node in profile.nodes:
        executions[node.space] += node.executions
    accesses = profile.coverage.accesses
    for space in sorted({*executions, *accesses}):
        # Coverage may leave out a space that was not used.
        stated = accesses.get(space, 0)  # type: ignore[call-overload]
        if stated != executions[space]:
            yield f"coverage counts {stated} {space} accesses, the nodes {executions[space]}"
    unknown = sum(
        part.bytes for node in profile.nodes for part in node.allocations if part.allocation is None
    )
    if unknown != profile.coverage.unknown_bytes:
        stated = profile.coverage.unknown_bytes
        yield f"coverage counts {stated} bytes outside allocations, the nodes {unknown}"
    if profile.coverage.lost_records and profile.incomplete is None:
        yield f"{profile.coverage.lost_records} records were lost, yet the profile is not marked incomplete"
    names = [entry.instruction for entry in profile.coverage.not_analysed]
    if len(set(names)) != len(names):
        yield "coverage lists an instruction twice"
    keys = [(edge.node, edge.origin, edge.label) for edge in profile.edges]
    if len(set(keys)) != len(keys):
        yield "two edges have the same node, origin and label"


def _cold_faults(profile: LaunchProfile, distinct_bytes: Mapping[str, int]) -> Iterator[str]:
    cold: dict[str, int] = defaultdict(int)
    for edge in profile.edges:
        if edge.label == "cold":
            cold[profile.nodes[edge.node].space] += edge.bytes
    for space, distinct in distinct_bytes.items():
        if cold[space] != distinct:
            yield f"{distinct} distinct bytes of {space} memory were touched, {cold[space]} bytes are cold"
