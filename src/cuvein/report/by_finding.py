"""The report by finding: what to look at first, over all launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.findings.analysis import Analysis
from cuvein.graph import Graph
from cuvein.report.findings import findings_text
from cuvein.report.findings_document import encode, findings_document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.findings.analysis import Report
    from cuvein.findings.locating import Locate
    from cuvein.profile.model import LaunchProfile

__all__ = ["FindingDocument", "FindingReport"]


class FindingReport:
    """Ranked findings as text.

    Parameters
    ----------
    locate
        Finds the source line of a node, or says why there is none, which the report ends with.
    width
        Characters in a line.
    colour
        Whether to send colours.
    unicode
        Whether the output can show other characters than ASCII.
    top
        How many findings to show; 0 for all.
    """

    def __init__(
        self,
        locate: Locate | None = None,
        *,
        width: int = 100,
        colour: bool = False,
        unicode: bool = True,
        top: int = 10,
    ) -> None:
        self._locate = locate
        self._width = width
        self._colour = colour
        self._unicode = unicode
        self._top = top

    def render(self, profiles: Iterable[LaunchProfile]) -> str:
        """Make the report; see :class:`cuvein.report.Report`."""
        report = _analysed(profiles, self._locate)
        text = findings_text(report, self._width, colour=self._colour, top=self._top)
        return text if self._unicode else text.encode("ascii", "replace").decode()


class FindingDocument:
    """Ranked findings as JSON, all of them."""

    def __init__(self, locate: Locate | None = None) -> None:
        self._locate = locate

    def render(self, profiles: Iterable[LaunchProfile]) -> str:
        """Make the report; see :class:`cuvein.report.Report`."""
        return encode(findings_document(_analysed(profiles, self._locate)))


def _analysed(profiles: Iterable[LaunchProfile], locate: Locate | None) -> Report:
    """Analyse the profiles, one in memory at a time."""
    analysis = Analysis(locate=locate)
    for profile in profiles:
        analysis.add(Graph(profile))
    return analysis.report()
