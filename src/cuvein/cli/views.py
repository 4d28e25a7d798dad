"""The reports of ``cuvein report --by``."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from cuvein.report.by_line import LineDocument, LineReport
from cuvein.report.by_object import ObjectDocument, ObjectReport
from cuvein.report.by_operator import OperatorDocument, OperatorReport
from cuvein.source import Locator

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cuvein.report import Report
    from cuvein.report.listing import Listing

__all__ = ["View", "view"]


class View(str, enum.Enum):
    """What the accesses are grouped by."""

    KERNEL = "kernel"
    LINE = "line"
    OBJECT = "object"
    OPERATOR = "operator"
    FINDING = "finding"


def view(
    by: View,
    listing: Listing | None,
    profiles: Sequence[Path],
    *,
    roots: Sequence[Path] = (),
    check: bool = False,
) -> Report:
    """Make the report by line, object or operator.

    Parameters
    ----------
    by
        `View.LINE`, `View.OBJECT` or `View.OPERATOR`.
    listing
        Writes the text; ``None`` for JSON.
    profiles
        The profiles or folders given, beside which modules and sources lie.
    roots
        Folders to search for source files.
    check
        Whether to look for source files that have changed.
    """
    if by is View.OBJECT:
        return ObjectDocument() if listing is None else ObjectReport(listing)
    if by is View.OPERATOR:
        return OperatorDocument() if listing is None else OperatorReport(listing)
    # Instructions are in the JSON only; disassembling takes a moment.
    locator = Locator.beside(*profiles, sass=listing is None, roots=roots, check=check)
    return LineDocument(locator) if listing is None else LineReport(locator, listing)
