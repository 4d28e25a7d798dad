"""Which accesses of a block its barriers order."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from reference.records import ARRIVE_ONLY, Record, lanes_of

__all__ = ["BlockClocks", "Pending"]

Thread = tuple[int, int]


@dataclass
class Pending:
    """A barrier that some threads have reached and that is not complete."""

    expected: int = 0
    clock: int = 0  # the latest of those that arrived, when they did
    pcs: set[int] = field(default_factory=set)
    arrived: set[Thread] = field(default_factory=set)
    waiting: set[Thread] = field(default_factory=set)


class BlockClocks:
    """The barriers of one block. A thread is (warp, lane).

    Block barriers: each warp has a Lamport clock that advances when a barrier completes; two accesses are
    ordered when the clock of the later one's warp is ahead of what the earlier one's warp's was. Warp
    barriers: two accesses are ordered when a barrier that covers both lanes completed in between.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.alive = {(thread // 32, thread % 32) for thread in range(threads)}
        self.warp: dict[int, int] = defaultdict(int)
        # PCs of the block barriers completed, and whether the whole block waited at each, at one instruction.
        self.completed: list[int] = []
        self.all_plain = True
        self.warp_barriers: dict[int, list[int]] = defaultdict(list)  # masks of those completed, by warp
        self.pending: dict[int, Pending] = {}
        self.pending_in_warps: dict[tuple[int, int], set[Thread]] = {}  # by warp and mask

    def block_barrier(self, record: Record) -> None:
        """Take a BLOCK_BARRIER record: some lanes of a warp have reached the barrier."""
        pending = self.pending.setdefault(record.address, Pending())
        pending.expected = record.value & (ARRIVE_ONLY - 1)
        threads = {(record.warp, lane) for lane in lanes_of(record.active)}
        pending.pcs.add(record.pc)
        self.all_plain &= pending.expected in {0, self.threads} and len(pending.pcs) == 1
        self.all_plain &= not record.value & ARRIVE_ONLY
        # What a warp that does not wait executes after its arrival is not ordered by this barrier.
        pending.clock = max(pending.clock, self.warp[record.warp])
        pending.arrived |= threads
        if not record.value & ARRIVE_ONLY:
            pending.waiting |= threads
        self._complete()

    def warp_barrier(self, record: Record) -> None:
        """Take a WARP_SYNC record."""
        arrived = self.pending_in_warps.setdefault((record.warp, record.address & 0xFFFFFFFF), set())
        arrived |= {(record.warp, lane) for lane in lanes_of(record.active)}
        self._complete()

    def thread_exit(self, record: Record) -> bool:
        """Take a THREAD_EXIT record; true when no thread of the block is left."""
        self.alive -= {(record.warp, lane) for lane in lanes_of(record.active)}
        self._complete()
        return not self.alive

    def blocked(self) -> set[Thread]:
        """Return the threads that wait at a barrier and execute nothing until it completes."""
        waiting = [pending.waiting for pending in self.pending.values()]
        return set().union(*waiting, *self.pending_in_warps.values())

    def _complete(self) -> None:
        for index, pending in list(self.pending.items()):
            whole = (
                pending.arrived >= self.alive
                if pending.expected == 0
                else len(pending.arrived) >= pending.expected
            )
            if whole:
                del self.pending[index]
                self.completed.append(min(pending.pcs))
                for warp in {warp for warp, _ in pending.waiting}:
                    self.warp[warp] = pending.clock + 1
        for (warp, mask), arrived in list(self.pending_in_warps.items()):
            members = {(warp, lane) for lane in lanes_of(mask)}
            if arrived >= members & self.alive:
                del self.pending_in_warps[warp, mask]
                self.warp_barriers[warp].append(mask)
