"""Comparing a launch profile with what was planted.

A test states for each planted line the bytes by label and origin, executions and distributions. Instructions
of one line are taken together, so unrolling changes nothing. Labels that the order of warps decides are given
as alternatives: ``"thread|block"``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuvein.profile.model import LaunchProfile

Lines = Mapping[tuple[str, int], tuple[str | None, str]]
Distribution = int | Mapping[int, int]
DISTRIBUTIONS = ("lanes", "addresses", "sectors", "words", "wavefronts", "ideal_wavefronts")


@dataclass(frozen=True)
class Access:
    """What is expected of one planted line in one space.

    ``labels`` maps ``"label"``, ``"label from line"`` or alternatives (``"thread|block from line"``) to
    bytes; each edge counts towards the first entry that fits. ``unordered`` has the same keys. A distribution
    is a whole histogram, or one number that every execution has. What is ``None`` is not checked.
    """

    line: str
    space: str
    type: str
    labels: Mapping[str, int]
    executions: int | None = None
    size: int | None = None
    lanes: Distribution | None = None
    addresses: Distribution | None = None
    sectors: Distribution | None = None
    words: Distribution | None = None
    wavefronts: Distribution | None = None
    ideal_wavefronts: Distribution | None = None
    unordered: Mapping[str, int | None] = field(default_factory=dict)
    asynchronous: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells accesses of one kernel apart."""
        return self.line, self.space, self.type


@dataclass
class Observed:
    """What a profile says of one line in one space."""

    executions: int = 0
    bytes: int = 0
    sizes: set[int] = field(default_factory=set)
    asynchronous: set[bool] = field(default_factory=set)
    distributions: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    labels: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    unordered: dict[tuple[str, str | None], int | None] = field(default_factory=dict)


def observe(profile: LaunchProfile, lines: Lines) -> dict[tuple[str, str, str], Observed]:
    """Gather the nodes of ``profile`` by planted line; accesses of no planted line are under ``"?"``."""
    names = []
    for node in profile.nodes:
        function = profile.launch.functions[node.function].mangled
        # The shared half of an asynchronous copy is one byte on from its instruction.
        name, _ = lines.get((function, node.pc & ~1), (None, ""))
        names.append(name or "?")
    found: dict[tuple[str, str, str], Observed] = defaultdict(Observed)
    for node in profile.nodes:
        seen = found[names[node.id], node.space, node.type]
        seen.executions += node.executions
        seen.bytes += node.bytes
        seen.sizes.add(node.size)
        seen.asynchronous.add(node.asynchronous)
        for kind in DISTRIBUTIONS:
            for value, count in getattr(node, kind):
                seen.distributions[kind][value] += count
    for edge in profile.edges:
        node = profile.nodes[edge.node]
        seen = found[names[node.id], node.space, node.type]
        key = (edge.label, None if edge.origin is None else names[edge.origin])
        seen.labels[key] += edge.bytes
        known = seen.unordered.get(key, 0)
        seen.unordered[key] = None if edge.unordered is None or known is None else known + edge.unordered
    return dict(found)


def unordered(found: Mapping[tuple[str, str, str], Observed], one: str, other: str) -> int:
    """Bytes that no barrier orders between two lines, whichever comes first, across warps."""
    total = 0
    for (line, _, _), seen in found.items():
        for (label, origin), count in seen.unordered.items():
            if {line, origin} == {one, other} and label == "block":
                total += count or 0
    return total


def differences(
    profile: LaunchProfile, lines: Lines, expected: list[Access], *, others: bool = False
) -> list[str]:
    """Say where ``profile`` is not as ``expected``; ``others`` allows accesses of lines not planted."""
    found = observe(profile, lines)
    faults = []
    for access in expected:
        name = " ".join(access.key)
        seen = found.pop(access.key, None)
        if seen is None:
            if sum(access.labels.values()):
                faults.append(f"{name}: not in the profile, which has {sorted(found)}")
            continue
        faults.extend(f"{name}: {fault}" for fault in _access_faults(access, seen))
    for key, seen in found.items():
        if not (others and key[0] == "?"):
            faults.append(f"{' '.join(key)}: not expected, {seen.executions} executions, {seen.bytes} bytes")
    return faults


def _access_faults(access: Access, seen: Observed) -> list[str]:
    faults = []
    if access.executions is not None and seen.executions != access.executions:
        faults.append(f"{seen.executions} executions, should be {access.executions}")
    if access.size is not None and seen.sizes != {access.size}:
        faults.append(f"{sorted(seen.sizes)} bytes a lane, should be {access.size}")
    if seen.asynchronous != {access.asynchronous}:
        faults.append(f"asynchronous {sorted(seen.asynchronous)}, should be {access.asynchronous}")
    sums: Counter[str] = Counter()
    for (label, origin), count in seen.labels.items():
        rule = _rule(access.labels, label, origin)
        if rule is None:
            faults.append(f"{count} bytes {label} from {origin}, should not be")
        else:
            sums[rule] += count
    for rule, count in access.labels.items():
        if sums[rule] != count:
            faults.append(f"{sums[rule]} bytes {rule}, should be {count}")
    faults.extend(_unordered_faults(access, seen))
    for kind in DISTRIBUTIONS:
        wanted: Distribution | None = getattr(access, kind)
        if wanted is None:
            continue
        histogram = {wanted: seen.executions} if isinstance(wanted, int) else dict(wanted)
        if dict(seen.distributions[kind]) != histogram:
            faults.append(f"{kind} {dict(sorted(seen.distributions[kind].items()))}, should be {histogram}")
    return faults


def _unordered_faults(access: Access, seen: Observed) -> list[str]:
    faults = []
    for rule, wanted in access.unordered.items():
        counts = [n for (label, origin), n in seen.unordered.items() if _fits(rule, label, origin)]
        known = [n for n in counts if n is not None]
        total = sum(known) if len(known) == len(counts) else None
        if total != wanted:
            faults.append(f"{total} unordered bytes {rule}, should be {wanted}")
    return faults


def _rule(rules: Mapping[str, int], label: str, origin: str | None) -> str | None:
    return next((rule for rule in rules if _fits(rule, label, origin)), None)


def _fits(rule: str, label: str, origin: str | None) -> bool:
    labels, _, wanted = rule.partition(" from ")
    return label in labels.split("|") and wanted in {"", origin}
