"""Which kernel and which instruction of one build is which of another."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from cuvein.findings.names import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from cuvein.findings.combining import CombinedKernel, CombinedNode

__all__ = ["KernelMatch", "NodeMatches", "match_kernels", "match_nodes"]

_HOW = ("name", "name without parameters", "name without template arguments", "name without numbers")
# Kernels of different names count as the same code from this likeness up, on a scale from 0 to 1.
_SAME_STRUCTURE = 0.8
# An instruction out of order counts as the same from this likeness of its edges up.
_SAME_EDGES = 0.9
# Beyond this many pairs the alignment by likeness is replaced by one by kind, which takes linear time in
# practice.
_PAIRS = 1_000_000


@dataclass(frozen=True)
class KernelMatch:
    """A kernel in both builds; ``how`` says by what they were matched."""

    before: CombinedKernel
    after: CombinedKernel
    how: str


@dataclass(frozen=True)
class NodeMatches:
    """The instructions in both builds, and those in one only; ``by_source`` pairs were matched by line."""

    pairs: list[tuple[CombinedNode, CombinedNode]]
    before_only: list[CombinedNode]
    after_only: list[CombinedNode]
    by_source: int


def match_kernels(before: Sequence[CombinedKernel], after: Sequence[CombinedKernel]) -> list[KernelMatch]:
    """Match kernels by mangled name, then ever looser forms of the demangled name, then by structure.

    A looser form counts only where it fits one kernel on each side; structure only where both sides have
    exactly one most similar partner left and the likeness is high.
    """
    left, right = list(before), list(after)
    matches: list[KernelMatch] = []
    forms: list[tuple[str, Callable[[CombinedKernel], Hashable]]] = [
        ("mangled name", lambda each: each.mangled)
    ]
    for how, form in zip(_HOW, FORMS, strict=True):
        forms.append((how, lambda each, form=form: form(each.name)))  # type: ignore[misc]
    for how, key in forms:
        for one, other in _unique_pairs(left, right, key):
            matches.append(KernelMatch(one, other, how))
            left.remove(one)
            right.remove(other)
    candidates = sorted(
        ((_likeness(one, other), i, j) for i, one in enumerate(left) for j, other in enumerate(right)),
        key=lambda each: (-each[0], each[1], each[2]),
    )
    taken_left: set[int] = set()
    taken_right: set[int] = set()
    for likeness, i, j in candidates:
        if likeness < _SAME_STRUCTURE:
            break
        if i not in taken_left and j not in taken_right:
            taken_left.add(i)
            taken_right.add(j)
            matches.append(KernelMatch(left[i], right[j], "structure"))
    return matches


def match_nodes(before: CombinedKernel, after: CombinedKernel) -> NodeMatches:
    """Match the instructions of two builds of a kernel.

    By source line where both have lines and these fit at least half of the instructions of the side that has
    fewer (an edit above the kernel shifts all of them, and then they say nothing). The rest by structure:
    same space and type, in the same order, preferring the same size and the likeness of the edges out and in.
    """
    left, right = before.in_order(), after.in_order()
    pairs = _by_source(left, right)
    by_source = len(pairs)
    matched_left = {one.key for one, _ in pairs}
    matched_right = {other.key for _, other in pairs}
    rest_left = [node for node in left if node.key not in matched_left]
    rest_right = [node for node in right if node.key not in matched_right]
    pairs += _aligned(rest_left, rest_right)
    matched_left = {one.key for one, _ in pairs}
    matched_right = {other.key for _, other in pairs}
    rest_left = [node for node in rest_left if node.key not in matched_left]
    rest_right = [node for node in rest_right if node.key not in matched_right]
    pairs += _out_of_order(rest_left, rest_right)
    matched_left = {one.key for one, _ in pairs}
    matched_right = {other.key for _, other in pairs}
    return NodeMatches(
        sorted(pairs, key=lambda pair: pair[0].key),
        [node for node in left if node.key not in matched_left],
        [node for node in right if node.key not in matched_right],
        by_source,
    )


def _unique_pairs(
    left: Iterable[CombinedKernel],
    right: Iterable[CombinedKernel],
    key: Callable[[CombinedKernel], Hashable],
) -> list[tuple[CombinedKernel, CombinedKernel]]:
    groups: dict[Hashable, tuple[list[CombinedKernel], list[CombinedKernel]]] = defaultdict(lambda: ([], []))
    for kernel in left:
        groups[key(kernel)][0].append(kernel)
    for kernel in right:
        groups[key(kernel)][1].append(kernel)
    return [(ones[0], others[0]) for ones, others in groups.values() if len(ones) == len(others) == 1]


def _kind(node: CombinedNode) -> tuple[str, str, int]:
    return (node.key.space, node.key.type, node.size)


def _likeness(before: CombinedKernel, after: CombinedKernel) -> float:
    """Return how alike two kernels are: the part of their instructions of the same kind in the same order."""
    ones = [_kind(node) for node in before.in_order()]
    others = [_kind(node) for node in after.in_order()]
    if not ones or not others:
        return 0.0
    matcher = SequenceMatcher(None, ones, others, autojunk=False)
    # The quick ratios are upper bounds: most pairs are told apart without aligning them.
    if min(matcher.real_quick_ratio(), matcher.quick_ratio()) < _SAME_STRUCTURE:
        return 0.0
    return matcher.ratio()


def _by_source(
    left: Sequence[CombinedNode], right: Sequence[CombinedNode]
) -> list[tuple[CombinedNode, CombinedNode]]:
    groups: dict[Hashable, tuple[list[CombinedNode], list[CombinedNode]]] = defaultdict(lambda: ([], []))
    known = [0, 0]
    for side, nodes in enumerate((left, right)):
        for node in nodes:
            if node.source is not None:
                known[side] += 1
                file = node.source.file.rsplit("/", 1)[-1]
                groups[file, node.source.line, node.key.space, node.key.type][side].append(node)
    pairs = []
    for ones, others in groups.values():
        pairs += _aligned(ones, others)
    return pairs if 2 * len(pairs) >= min(known) else []


def _aligned(
    left: Sequence[CombinedNode], right: Sequence[CombinedNode]
) -> list[tuple[CombinedNode, CombinedNode]]:
    """Return the order-preserving matching of nodes of the same space and type with the greatest likeness."""
    shapes_left, shapes_right = [_Edges(node) for node in left], [_Edges(node) for node in right]
    # Equal instructions at start and end match whatever is between: most kernels are equal throughout.
    shorter, start, end = min(len(left), len(right)), 0, 0
    while start < shorter and shapes_left[start].equals(shapes_right[start]):
        start += 1
    while end < shorter - start and shapes_left[-1 - end].equals(shapes_right[-1 - end]):
        end += 1
    middle_left = shapes_left[start : len(left) - end]
    middle_right = shapes_right[start : len(right) - end]
    if len(middle_left) * len(middle_right) > _PAIRS:
        middle = _aligned_by_kind(middle_left, middle_right)
    else:
        middle = _aligned_by_likeness(middle_left, middle_right)
    pairs = [*zip(shapes_left[:start], shapes_right[:start], strict=True), *middle]
    pairs += zip(shapes_left[len(left) - end :], shapes_right[len(right) - end :], strict=True)
    return [(one.node, other.node) for one, other in pairs]


def _aligned_by_kind(left: Sequence[_Edges], right: Sequence[_Edges]) -> list[tuple[_Edges, _Edges]]:
    kinds = [_kind(each.node) for each in left], [_kind(each.node) for each in right]
    blocks = SequenceMatcher(None, *kinds, autojunk=False).get_matching_blocks()
    return [(left[i + step], right[j + step]) for i, j, count in blocks for step in range(count)]


def _aligned_by_likeness(left: Sequence[_Edges], right: Sequence[_Edges]) -> list[tuple[_Edges, _Edges]]:
    # best[i][j]: the greatest likeness of left[i:] and right[j:].
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    gain = [[one.likeness(other) for other in right] for one in left]
    for i in range(len(left) - 1, -1, -1):
        row, below, gains = best[i], best[i + 1], gain[i]
        for j in range(len(right) - 1, -1, -1):
            row[j] = max(below[j], row[j + 1], below[j + 1] + gains[j] if gains[j] else 0.0)
    pairs = []
    i = j = 0
    while i < len(left) and j < len(right):
        if gain[i][j] and best[i][j] == best[i + 1][j + 1] + gain[i][j]:
            pairs.append((left[i], right[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _out_of_order(
    left: Sequence[CombinedNode], right: Sequence[CombinedNode]
) -> list[tuple[CombinedNode, CombinedNode]]:
    """Match what the compiler moved: same kind, nearly the same edges."""
    pairs = []
    free = [(node, _Edges(node)) for node in right]
    for node in left:
        edges = _Edges(node)
        for position, (other, its) in enumerate(free):
            if _kind(node) == _kind(other) and _overlap(edges.outgoing, its.outgoing) >= _SAME_EDGES:
                pairs.append((node, other))
                del free[position]
                break
    return pairs


class _Edges:
    """The edges of a node as shares by label and kind of the other end: its neighbourhood without names."""

    def __init__(self, node: CombinedNode) -> None:
        self.node = node
        self.outgoing = _shares(node.origins)
        self.incoming = _shares(node.users)

    def equals(self, other: _Edges) -> bool:
        """Return whether nothing tells the two apart."""
        return (
            _kind(self.node) == _kind(other.node)
            and self.outgoing == other.outgoing
            and self.incoming == other.incoming
        )

    def likeness(self, other: _Edges) -> float:
        """Return 0 for what cannot be the same instruction, else from 1 up."""
        one, two = self.node, other.node
        if (one.key.space, one.key.type) != (two.key.space, two.key.type):
            return 0.0
        same_size = 0.5 if one.size == two.size else 0.0
        return (
            1
            + same_size
            + _overlap(self.outgoing, other.outgoing)
            + 0.5 * _overlap(self.incoming, other.incoming)
        )


def _shares(edges: Mapping[Any, int]) -> dict[tuple[str, ...], float]:
    total = sum(edges.values())
    shares: dict[tuple[str, ...], float] = defaultdict(float)
    for (label, end), weight in edges.items():
        shares[(label, "" if end is None else end.type)] += weight / total
    return dict(shares)


def _overlap(one: Mapping[tuple[str, ...], float], other: Mapping[tuple[str, ...], float]) -> float:
    """Return 1 for equal distributions, 0 for disjoint ones; two empty ones are equal."""
    if not one and not other:
        return 1.0
    return sum(min(share, other.get(key, 0.0)) for key, share in one.items())
