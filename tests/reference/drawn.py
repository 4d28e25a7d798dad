"""Random record streams whose choices hypothesis makes, and shrinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from reference.generator import Stream, generate

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["streams"]


class _Drawn:
    """Choices by hypothesis."""

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        """Choose a number, both ends included."""
        return self._draw(st.integers(low, high))


@st.composite
def streams(draw: Callable[[st.SearchStrategy[int]], int]) -> Stream:
    """Draw a stream of up to 60 steps."""
    return generate(_Drawn(draw), draw(st.integers(1, 60)))
