"""Two runs compared, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuvein.report.findings_document import finding_document, source_document, totals_document

if TYPE_CHECKING:
    from cuvein.findings.combining import CombinedKernel, CombinedNode
    from cuvein.findings.comparison import Comparison, FindingChange, KernelComparison

__all__ = ["FORMAT", "VERSION", "diff_document"]

FORMAT = "cuvein diff"
VERSION = 1


def diff_document(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison with all its numbers; amounts are for one launch where nothing else is said."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "kernels": [_kernel(kernel) for kernel in comparison.kernels],
        "before_only": [_name(kernel) for kernel in comparison.before_only],
        "after_only": [_name(kernel) for kernel in comparison.after_only],
        "lines_missing": {
            "before": comparison.before.report.lines_missing,
            "after": comparison.after.report.lines_missing,
        },
    }


def _name(kernel: CombinedKernel) -> dict[str, Any]:
    return {"name": kernel.name, "mangled": kernel.mangled, "launches": kernel.launches}


def _kernel(kernel: KernelComparison) -> dict[str, Any]:
    attribution = kernel.attribution
    return {
        "before": {**_name(kernel.match.before), "work": totals_document(kernel.before)},
        "after": {**_name(kernel.match.after), "work": totals_document(kernel.after)},
        "matched_by": kernel.match.how,
        "traffic": [
            {"space": space, "label": label, "before": before, "after": after}
            for (space, label), (before, after) in kernel.traffic.items()
        ],
        "instructions": {
            "matched": len(kernel.nodes.pairs),
            "matched_by_source": kernel.nodes.by_source,
            "gone": [_node(node) for node in kernel.nodes.before_only],
            "appeared": [_node(node) for node in kernel.nodes.after_only],
            "moved": [
                {
                    "before": _node(moved.before),
                    "after": _node(moved.after),
                    "from": moved.source,
                    "to": moved.target,
                    "share": moved.share,
                }
                for moved in kernel.moved
            ],
        },
        "findings": {
            "gone": [_change(each) for each in kernel.gone],
            "appeared": [_change(each) for each in kernel.appeared],
            "stayed": [_change(each) for each in kernel.stayed],
        },
        "attribution": None
        if attribution is None
        else {
            "attributed": totals_document(attribution.attributed),
            "at_places": totals_document(attribution.at_places),
            "in_kernel": totals_document(attribution.in_kernel),
        },
    }


def _node(node: CombinedNode) -> dict[str, Any]:
    return {
        **node.key._asdict(),
        "size": node.size,
        "source": source_document(node.source),
        "source_missing": node.source_missing,
        "work_of_all_launches": totals_document(node.work),
    }


def _change(each: FindingChange) -> dict[str, Any]:
    return {
        "before": None if each.before is None else finding_document(each.before),
        "after": None if each.after is None else finding_document(each.after),
        "removal_before": totals_document(each.removal_before),
        "removal_after": totals_document(each.removal_after),
        "moved": each.moved,
    }
