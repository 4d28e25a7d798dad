"""Which accesses its barriers order within a block: Lamport clocks that advance when a barrier completes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from reference.records import ARRIVE_ONLY, Record, lanes_of

__all__ = ["BlockClocks"]


@dataclass
class _Pending:
    """A barrier that some threads have reached and that is not complete."""

    expected: int = 0
    arrived: set[tuple[int, int]] = field(default_factory=set)
    waiting_warps: set[int] = field(default_factory=set)


class BlockClocks:
    """Clocks of one block: one for each warp (block barriers), one for each thread (warp barriers).

    A thread is (warp, lane). Two accesses are ordered by a kind of barrier when the clock of the later one's
    warp or thread is ahead of what the earlier one's was.
    """

    def __init__(self, threads: int) -> None:
        self.alive = {(thread // 32, thread % 32) for thread in range(threads)}
        self.warp: dict[int, int] = defaultdict(int)
        self.thread: dict[tuple[int, int], int] = defaultdict(int)
        self._block_barriers: dict[int, _Pending] = {}
        self._warp_barriers: dict[tuple[int, int], set[tuple[int, int]]] = {}

    def block_barrier(self, record: Record) -> None:
        """Take a BLOCK_BARRIER record: some lanes of a warp have reached the barrier."""
        pending = self._block_barriers.setdefault(record.address, _Pending())
        pending.expected = record.value & (ARRIVE_ONLY - 1)
        pending.arrived |= {(record.warp, lane) for lane in lanes_of(record.active)}
        if not record.value & ARRIVE_ONLY:
            pending.waiting_warps.add(record.warp)
        self._complete()

    def warp_barrier(self, record: Record) -> None:
        """Take a WARP_SYNC record."""
        arrived = self._warp_barriers.setdefault((record.warp, record.address & 0xFFFFFFFF), set())
        arrived |= {(record.warp, lane) for lane in lanes_of(record.active)}
        self._complete()

    def thread_exit(self, record: Record) -> bool:
        """Take a THREAD_EXIT record; true when no thread of the block is left."""
        self.alive -= {(record.warp, lane) for lane in lanes_of(record.active)}
        self._complete()
        return not self.alive

    def _complete(self) -> None:
        for index, pending in list(self._block_barriers.items()):
            whole = (
                pending.arrived >= self.alive
                if pending.expected == 0
                else len(pending.arrived) >= pending.expected
            )
            if whole:
                del self._block_barriers[index]
                after = max(self.warp[warp] for warp, _ in pending.arrived) + 1
                for warp in pending.waiting_warps:
                    self.warp[warp] = after
        for (warp, mask), arrived in list(self._warp_barriers.items()):
            members = {(warp, lane) for lane in lanes_of(mask)}
            if arrived >= members & self.alive:
                del self._warp_barriers[warp, mask]
                after = max(self.thread[thread] for thread in members) + 1
                for thread in members:
                    self.thread[thread] = after
