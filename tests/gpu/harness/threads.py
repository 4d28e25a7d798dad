"""Kernels written as what one thread does, run in lockstep by warp and in random order of the warps.

A kernel is a generator over a `Thread`; it yields accesses, barriers, and commits of and waits for
asynchronous copies. What the lanes of a warp do next at one line is one access. Where they diverge, the line
that came first goes first, and lanes that are further on wait.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cuvein.vocabulary import AccessType, RecordFlag, RecordKind, Space
from reference.records import FULL, Record

ARRAY = 1 << 32  # distance between the arrays of a kernel


@dataclass(frozen=True)
class Thread:
    """Where a thread is; ``block`` and ``thread`` count flat, x fastest."""

    block: int
    thread: int
    blocks: int
    threads: int

    @property
    def index(self) -> int:
        """Through the whole grid."""
        return self.block * self.threads + self.thread

    @property
    def lane(self) -> int:
        """Within its warp."""
        return self.thread % 32

    @property
    def warp(self) -> int:
        """Within its block."""
        return self.thread // 32


@dataclass(frozen=True)
class Touch:
    """An access by one thread. ``bytes`` where it is less than ``size``; none at all if 0."""

    line: str
    space: Space
    type: AccessType
    address: int
    size: int = 4
    bytes: int | None = None
    asynchronous: bool = False
    matrix: bool = False

    @property
    def key(self) -> tuple[str, Space, AccessType]:
        """What the lanes of a warp do together."""
        return self.line, self.space, self.type


@dataclass(frozen=True)
class Sync:
    """All living threads of the block (of the warp, of the cluster) meet."""

    kind: RecordKind
    left: int = 0


BARRIER = Sync(RecordKind.BLOCK_BARRIER)
WARP = Sync(RecordKind.WARP_SYNC)
COMMIT = Sync(RecordKind.ASYNC_COMMIT)


def wait(left: int) -> Sync:
    """Wait until at most ``left`` groups of copies are on their way."""
    return Sync(RecordKind.ASYNC_WAIT, left)


Step = Touch | Sync
Program = Callable[[Thread], Iterator[Step]]


class _Warp:
    """The lanes of a warp and what each does next."""

    def __init__(self, block: int, warp: int, lanes: list[Iterator[Step]]) -> None:
        self.block, self.warp = block, warp
        self.lanes = lanes
        self.next: dict[int, Step] = {}
        self.ended = 0
        self.order: dict[object, int] = {}
        for lane in range(len(lanes)):
            self._advance(lane)

    def _advance(self, lane: int) -> None:
        try:
            self.next[lane] = next(self.lanes[lane])
        except StopIteration:
            self.next.pop(lane, None)
            self.ended |= 1 << lane

    def step(self) -> tuple[int, Step, dict[int, Touch]] | None:
        """Take the next step: the mask of its lanes, one of them, and the accesses by lane."""
        touches = {lane: step for lane, step in self.next.items() if isinstance(step, Touch)}
        if touches:
            for touch in touches.values():
                self.order.setdefault(touch.key, len(self.order))
            key = min((touch.key for touch in touches.values()), key=lambda k: self.order[k])
            group = {lane: touch for lane, touch in touches.items() if touch.key == key}
            first: Step = next(iter(group.values()))
        else:
            if not self.next:
                return None
            group, first = {}, next(iter(self.next.values()))
            assert all(step == first for step in self.next.values())
        lanes = list(group) if group else list(self.next)
        for lane in lanes:
            self._advance(lane)
        return sum(1 << lane for lane in lanes), first, group


def records(
    program: Program, blocks: int, threads: int, seed: int, *, pcs: dict[str, int], cluster: int = 1
) -> Iterator[Record]:
    """Run a kernel; ``pcs`` gets the program counter of each line."""
    chance = random.Random(seed)
    warps = [
        _Warp(
            block,
            first // 32,
            [
                program(Thread(block, thread, blocks, threads))
                for thread in range(first, min(first + 32, threads))
            ],
        )
        for block in range(blocks)
        for first in range(0, threads, 32)
    ]
    groups = defaultdict(set)
    for warp in warps:
        groups[warp.block // cluster].add(warp)
    ready, waiting = list(warps), defaultdict(set)
    exits = dict.fromkeys(warps, 0)
    while ready:
        place = chance.randrange(len(ready))
        warp = ready[place]
        taken = warp.step()
        if taken is not None:
            mask, step, touches = taken
            if isinstance(step, Touch):
                yield from _access(warp, touches, pcs)
            else:
                address = mask if step == WARP else step.left
                yield Record(step.kind, block=warp.block, warp=warp.warp, active=mask, address=address)
        if warp.ended != exits[warp]:
            ended = warp.ended & ~exits[warp]
            exits[warp] = warp.ended
            yield Record(RecordKind.THREAD_EXIT, block=warp.block, warp=warp.warp, active=ended)
        group = warp.block // cluster
        if taken is None or (isinstance(taken[1], Sync) and taken[1].kind in _MEETINGS):
            ready[place] = ready[-1]
            ready.pop()
            if taken is None:
                groups[group].discard(warp)
            else:
                waiting[group, taken[1], warp.block if taken[1] == BARRIER else None].add(warp)
            for key, there in list(waiting.items()):
                here = {w for w in groups[key[0]] if key[2] is None or w.block == key[2]}
                if key[0] == group and there and there >= here:
                    ready.extend(sorted(there, key=lambda w: (w.block, w.warp)))
                    del waiting[key]
    yield Record(RecordKind.LAUNCH_END, active=FULL)


_MEETINGS = (RecordKind.BLOCK_BARRIER, RecordKind.CLUSTER_WAIT)


def _access(warp: _Warp, touches: dict[int, Touch], pcs: dict[str, int]) -> Iterator[Record]:
    one = next(iter(touches.values()))
    sizes = {lane: touch.size if touch.bytes is None else touch.bytes for lane, touch in touches.items()}
    active = [lane for lane in sorted(touches) if sizes[lane]]
    if not active:
        return
    pc = pcs.setdefault(one.line, 16 * (len(pcs) + 1))
    flags = (RecordFlag.ASYNC if one.asynchronous else 0) | (RecordFlag.MATRIX if one.matrix else 0)
    yield Record(
        RecordKind.ACCESS,
        pc + (one.asynchronous and one.space == Space.SHARED),
        warp.block,
        warp.warp,
        sum(1 << lane for lane in active),
        space=one.space,
        type=one.type,
        flags=flags,
        size=one.size,
        starts=tuple(touches[i].address if i in active else 0 for i in range(32)),
        sizes=tuple(sizes[i] if i in active else 0 for i in range(32)),
    )
