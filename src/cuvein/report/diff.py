"""Two runs compared, as text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, TypeVar

from cuvein.patterns.wording import percent
from cuvein.report import findings_words as words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cuvein.findings.combining import CombinedKernel, CombinedNode
    from cuvein.findings.comparison import Comparison, FindingChange, KernelComparison, NodeChange
    from cuvein.patterns import Finding

__all__ = ["QUANTITIES", "change", "diff_text"]

QUANTITIES = ("instructions", "sectors", "wavefronts", "bytes")
_LISTED = 12
# Where the whole kernel does less than what went and its instructions were not matched by their lines.
_GUESSED = (
    "Less there: instructions were matched by structure, so one that is new may have been taken for one that "
    "went, which then counts as still there. The kernel's column does not depend on that."
)

T = TypeVar("T")


def diff_text(comparison: Comparison, width: int = 100) -> str:
    """Return a comparison for people: kernel by kernel, what a launch does now and did before."""
    lines: list[str] = []
    unchanged: list[KernelComparison] = []
    for kernel in comparison.kernels:
        if len(comparison.kernels) > 1 and _unchanged(kernel):
            unchanged.append(kernel)
        else:
            lines += [*_kernel(kernel, width), ""]
    for title, kernels, listed in (
        ("Only before", comparison.before_only, None),
        ("Only after", comparison.after_only, None),
        ("Unchanged", [each.match.after for each in unchanged], _LISTED),
    ):
        if kernels:
            lines.append(f"{title}:")
            lines += [f"  {words.printable(each.name)} ({_launches(each)})" for each in kernels[:listed]]
            lines += [line.removeprefix("  ") for line in _more(len(kernels) - (listed or len(kernels)))]
            lines.append("")
    for note in _notes(comparison):
        lines += textwrap.wrap(f"Note: {words.printable(note)}.", width, break_on_hyphens=False)
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def _notes(comparison: Comparison) -> list[str]:
    """Say why source lines are missing, once where it is the same on both sides."""
    before, after = (
        words.lines_missing(run.report.lines_missing) for run in (comparison.before, comparison.after)
    )
    if before == after:
        return before
    return [f"before, {note}" for note in before] + [f"after, {note}" for note in after]


def _unchanged(kernel: KernelComparison) -> bool:
    before, after = kernel.match.before, kernel.match.after
    return (
        (before.name, before.launches) == (after.name, after.launches)
        and all(getattr(kernel.before, name) == getattr(kernel.after, name) for name in QUANTITIES)
        and all(one == other for one, other in kernel.traffic.values())
        and not (kernel.nodes.before_only or kernel.nodes.after_only or kernel.moved)
        and not (kernel.gone or kernel.appeared or any(each.moved for each in kernel.stayed))
    )


def _kernel(kernel: KernelComparison, width: int) -> list[str]:
    before, after = kernel.match.before, kernel.match.after
    lines = [words.printable(before.name)]
    if after.name != before.name:
        lines.append(f"  now {words.printable(after.name)} (matched by {kernel.match.how})")
    launches = (
        _launches(before)
        if before.launches == after.launches
        else f"{_launches(before)}, now {after.launches:,}"
    )
    lines.append(f"  {launches}; {_nodes(kernel)}. For one launch:")
    lines.append("")
    rows = [
        (name, getattr(kernel.before, name), getattr(kernel.after, name))
        for name in QUANTITIES
        if getattr(kernel.before, name) or getattr(kernel.after, name)
    ]
    lines += _table(rows)
    traffic = [
        (f"{space.replace('_', ' ')} {label}", before_bytes, after_bytes)
        for (space, label), (before_bytes, after_bytes) in kernel.traffic.items()
        if before_bytes != after_bytes
    ]
    if traffic:
        lines += ["", "  Bytes by space and scope, where they changed"]
        lines += _table(traffic)
    lines += _instructions(kernel)
    lines += _findings(kernel, width)
    lines += _attribution(kernel, width)
    return lines


def _launches(kernel: CombinedKernel) -> str:
    return f"{kernel.launches:,} {'launch' if kernel.launches == 1 else 'launches'}"


def _nodes(kernel: KernelComparison) -> str:
    pairs, by_source = len(kernel.nodes.pairs), kernel.nodes.by_source
    how = (
        "by structure"
        if not by_source
        else "by source line"
        if by_source == pairs
        else "by source line and structure"
    )
    return f"{pairs:,} memory instructions matched {how}"


def _table(rows: Iterable[tuple[str, int, int]]) -> list[str]:
    return [
        f"    {name:<24}{before:>18,}  ->{after:>18,}  {change(before, after):>10}"
        for name, before, after in rows
    ]


def change(before: int, after: int) -> str:
    """Return a change in words: ``-12.5 %``, ``new``, ``gone``, ``=``."""
    if before == after:
        return "="
    if not before:
        return "new"
    if not after:
        return "gone"
    if after > before:
        return "+" + percent((after - before) / before)
    # Never "-> 99.9 %", which reads as an arrow.
    return "-" + percent(min((before - after) / before, 0.999))


def _instructions(kernel: KernelComparison) -> list[str]:
    before, after = kernel.match.before.name, kernel.match.after.name
    lines = []
    for title, nodes, name in (
        ("Instructions that went away", kernel.nodes.before_only, before),
        ("Instructions that appeared", kernel.nodes.after_only, after),
    ):
        if nodes:
            lines += ["", f"  {title}"]
            groups = sorted(_copies(nodes, lambda node: node), key=lambda group: -_bytes(group))
            lines += [
                f"    {_node(group[0], name, len(group) - 1)}, {_bytes(group):,} bytes in all"
                for group in groups[:_LISTED]
            ]
            lines += _more(sum(map(len, groups[_LISTED:])))
    if kernel.moved:
        lines += ["", "  Instructions whose reuse moved to another scope"]
        changes = _copies(kernel.moved, lambda moved: moved.after, lambda moved: (moved.source, moved.target))
        lines += [
            f"    {_node(moved[0].after, after, len(moved) - 1)}: {_share(moved)} of its bytes, mostly "
            f"{moved[0].source} -> {moved[0].target}"
            for moved in changes[:_LISTED]
        ]
        lines += _more(sum(map(len, changes[_LISTED:])))
    return lines


def _copies(
    items: Iterable[T], node: Callable[[T], CombinedNode], alike: Callable[[T], object] = lambda _: None
) -> list[list[T]]:
    """Return items with those together whose instructions unrolling made of one source line."""
    groups: dict[object, list[T]] = {}
    for position, item in enumerate(items):
        one = node(item)
        kind = (one.key.function, one.source, one.key.space, one.key.type, one.size, alike(item))
        groups.setdefault(position if one.source is None else kind, []).append(item)
    return list(groups.values())


def _bytes(nodes: Iterable[CombinedNode]) -> int:
    return sum(node.work.bytes for node in nodes)


def _share(moved: Sequence[NodeChange]) -> str:
    shares = [each.share for each in moved]
    return " to ".join(dict.fromkeys([percent(min(shares)), percent(max(shares))]))


def _more(hidden: int) -> list[str]:
    return [f"    and {hidden:,} more"] if hidden > 0 else []


def _node(node: CombinedNode, kernel: str, more: int) -> str:
    at = f"pc {node.key.pc:#x}" if node.key.function == kernel else f"{node.key.function}+{node.key.pc:#x}"
    if more:
        at += f" and {more:,} more"
    if node.source is not None:
        at = f"{node.source.file.rsplit('/', 1)[-1]}:{node.source.line} ({at})"
    return f"{words.printable(at)}: {node.size}-byte {node.key.space.replace('_', ' ')} {node.key.type}"


def _findings(kernel: KernelComparison, width: int) -> list[str]:
    lines: list[str] = []
    for title, changes in (
        ("Findings that went away", kernel.gone),
        ("Findings that appeared", kernel.appeared),
        ("Findings that changed scope or severity", [each for each in kernel.stayed if each.moved]),
    ):
        if changes:
            lines += ["", f"  {title}"]
            for each in changes[:_LISTED]:
                lines += textwrap.wrap(
                    _finding(each), width, initial_indent="    ", subsequent_indent="      "
                )
            lines += _more(len(changes) - _LISTED)
    unchanged = sum(not each.moved for each in kernel.stayed)
    if unchanged:
        lines += ["", f"  {unchanged:,} {'finding stays' if unchanged == 1 else 'findings stay'}"]
    return lines


def _finding(each: FindingChange) -> str:
    finding = each.before or each.after
    if finding is None:
        return ""
    severity = _severity(each.before, each.after)
    text = f"{severity} {words.heading(finding)} at {_place(finding)}: {finding.summary}"
    context = words.context(finding)
    if context:
        text += f" {context}"
    if each.before is not None and each.after is not None and each.before.scope != each.after.scope:
        text += f" Scope: {each.before.scope} -> {each.after.scope}."
    return text


def _severity(before: Finding | None, after: Finding | None) -> str:
    names = [finding.severity.word.upper() for finding in (before, after) if finding is not None]
    return " -> ".join(dict.fromkeys(names))


def _place(finding: Finding) -> str:
    more = len(finding.places) - 1
    return words.printable(words.location(finding.places[0], finding.kernel)) + (
        f" and {more} more" if more else ""
    )


def _attribution(kernel: KernelComparison, width: int) -> list[str]:
    attribution = kernel.attribution
    if attribution is None:
        return []
    guessed = False
    lines = [
        "",
        "  What the findings that went away had said a fix removes, and what went, for one launch",
        f"    {'':<14}{'attributed':>18}{'less there':>18}{'less in kernel':>18}",
    ]
    for name in QUANTITIES:
        promised = getattr(attribution.attributed, name)
        if promised:
            here, whole = getattr(attribution.at_places, name), getattr(attribution.in_kernel, name)
            lines.append(f"    {name:<14}{promised:>18,}{here:>18,}{whole:>18,}")
            guessed |= here < min(promised, whole)
    if guessed and kernel.nodes.by_source < len(kernel.nodes.pairs):
        lines += textwrap.wrap(_GUESSED, width, initial_indent="    ", subsequent_indent="    ")
    return lines
