"""Which asynchronous copies the threads of a block have waited for."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuvein.vocabulary import RecordKind
from reference.records import lanes_of

if TYPE_CHECKING:
    from reference.barriers import BlockClocks, Thread
    from reference.records import Record

__all__ = ["AsyncCopies", "Copy"]


@dataclass(eq=False)
class Copy:
    """A copy of one thread; once waited for, with the clock and the warp barriers of its warp at the wait."""

    done: tuple[int, int] | None = None


class AsyncCopies:
    """The copies of one block, by thread: those in no group yet, and the groups that are not complete."""

    def __init__(self) -> None:
        self.unknown = False
        self._issued: dict[Thread, list[Copy]] = defaultdict(list)
        self._groups: dict[Thread, list[list[Copy]]] = defaultdict(list)

    def issue(self, thread: Thread) -> Copy:
        """Begin a copy."""
        self._issued[thread].append(Copy())
        return self._issued[thread][-1]

    def take(self, record: Record, clocks: BlockClocks) -> None:
        """Take a record that commits or waits, or one by which copies may be waited for unseen."""
        if record.kind == RecordKind.MBARRIER:
            self.unknown = True
        for thread in ((record.warp, lane) for lane in lanes_of(record.active)):
            groups = self._groups[thread]
            if record.kind == RecordKind.ASYNC_COMMIT:
                groups.append(self._issued.pop(thread, []))
            elif record.kind == RecordKind.ASYNC_WAIT:
                while len(groups) > record.address:
                    for copy in groups.pop(0):
                        copy.done = clocks.warp[record.warp], len(clocks.warp_barriers[record.warp])
