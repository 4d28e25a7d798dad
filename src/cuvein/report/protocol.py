"""What a report is. Each kind is one module beside this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.profile.model import LaunchProfile

__all__ = ["Report"]


class Report(Protocol):
    """Turns launch profiles into text: for a terminal, a file, a browser, another tool."""

    def render(self, profiles: Iterable[LaunchProfile]) -> str:
        """Make the report.

        Parameters
        ----------
        profiles
            Read once, in their order; they may be produced while the report is made.

        Returns
        -------
        str
            The whole report, with a newline at its end.
        """
        ...
