"""Random but possible record streams, with everything that records can express.

Possible means: threads that wait at a barrier or have ended execute nothing, addresses are aligned as the
hardware demands, the threads of a named barrier are whole warps. Memory is small, so that accesses meet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from cuvein.profile.model import Allocation, Function
from cuvein.vocabulary import AccessType, Instruction, RecordFlag, RecordKind, Space
from reference.barriers import BlockClocks
from reference.records import FULL, Record, lanes_of
from reference.streams import Warp, launch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cuvein.profile.model import Launch

__all__ = ["Chooser", "Stream", "generate"]

T = TypeVar("T")


class Chooser(Protocol):
    """Where the choices come from: hypothesis, or a plain random generator."""

    def integer(self, low: int, high: int) -> int:
        """Choose a number, both ends included."""


@dataclass
class Stream:
    """Launches and their records, interleaved."""

    launches: list[Launch]
    records: list[Record]


# Far apart, in pages of their own, astride a page or a 4 GiB boundary, at the end of the address space.
_REGIONS = (
    0x7F00_0000_0000,
    0x7F00_0000_0FC0,
    0x7F02_0000_0000,
    0x7F03_FFFF_FFC0,
    0x1000,
    2**47 - 128,
    2**64 - 1024,
)
_SHARED = (0, 64, 0x7FC0, 160 * 1024)
_LOCAL = (0, 32, 0x3FFF0)
_BLOCKS = ((1, 1, 1), (20, 1, 1), (32, 1, 1), (33, 1, 1), (64, 1, 1), (8, 4, 3), (5, 7, 2), (1024, 1, 1))
_GRIDS = (
    ((1, 1, 1), None),
    ((3, 1, 1), None),
    ((2, 2, 1), (2, 1, 1)),
    ((4, 2, 2), (2, 2, 1)),
    ((70000, 5, 7), None),
)
_FUNCTIONS = [
    Function(name="kernel", mangled="kernel", offset=0, size=0x100),
    Function(name="before", mangled="before", offset=-0x200, size=0x80),
    Function(name="after", mangled="after", offset=0x10000, size=0x80),
]
_PCS = (0, 0x10, 0x20, 0xF0, -0x200, -0x190, 0x10010)


def generate(choose: Chooser, length: int) -> Stream:
    """Make a stream by ``length`` steps, most of which are one record."""
    launches = [_launch(choose, sequence) for sequence in range(1, _pick(choose, (1, 1, 2, 3)) + 1)]
    makers = [_Maker(choose, shape) for shape in launches]
    records: list[Record] = []
    while length > 0:
        records += _pick(choose, makers).next()
        length -= 1
    return Stream(launches, records)


def _pick(choose: Chooser, values: Sequence[T]) -> T:
    return values[choose.integer(0, len(values) - 1)]


def _launch(choose: Chooser, sequence: int) -> Launch:
    grid, cluster = _pick(choose, _GRIDS)
    shape = launch(sequence, grid, _pick(choose, _BLOCKS), cluster)
    allocations = []
    for region in _REGIONS[:5:2]:
        size = _pick(choose, (0, 1, 64, 100, 4096))
        if size:
            allocations.append(Allocation(address=region, size=size, kind="device"))
    if choose.integer(0, 1):
        allocations.reverse()
    return msgspec.structs.replace(shape, allocations=allocations, functions=_FUNCTIONS)


class _Maker:
    """Makes the records of one launch."""

    def __init__(self, choose: Chooser, shape: Launch) -> None:
        self._choose = choose
        self._sequence = shape.sequence
        self._threads = shape.block[0] * shape.block[1] * shape.block[2]
        last = shape.grid[0] * shape.grid[1] * shape.grid[2] - 1
        # A few blocks of the grid, neighbours and the far end.
        self._blocks = sorted({0, min(1, last), min(4, last), last})
        self._clocks = {block: BlockClocks(self._threads) for block in self._blocks}
        # Few places in a launch, so that accesses meet.
        self._pcs = [_pick(choose, _PCS) for _ in range(4)]
        self._bases = {
            space: [_pick(choose, bases) for _ in range(2)]
            for space, bases in ((Space.GLOBAL, _REGIONS), (Space.SHARED, _SHARED), (Space.LOCAL, _LOCAL))
        }
        self._window = _pick(choose, (16, 32, 128, 512))
        # Of a launch with plain barriers only it is known which of them orders what.
        self._plain = choose.integer(0, 1) == 1

    def next(self) -> list[Record]:
        """Make the next records; none where the choice was impossible."""
        block = _pick(self._choose, self._blocks)
        clocks = self._clocks[block]
        warps = (self._threads + 31) // 32
        number = _pick(self._choose, sorted({0, min(1, warps - 1), warps - 1}))
        free = 0
        for warp, lane in clocks.alive - clocks.blocked():
            free |= (warp == number) << lane
        if not free:
            return []
        by = Warp(block, number, self._sequence)
        kind = self._choose.integer(0, 43)
        if kind < 28:
            return self._followed(self._access(by, free), by)
        if kind < 31 and not self._plain:
            return self._barrier(by, number, free, clocks)
        if kind < 33:
            return self._barrier_of_all(block, clocks)
        if kind < 37:
            return self._sync(by, number, free, clocks)
        if kind == 37:
            return self._exit(by, free, clocks)
        if kind == 38:
            return [self._allocate(by, free)]
        if kind == 39:
            return [self._other(by, self._subset(free))]
        if kind < 42:
            return [by.other(RecordKind.ASYNC_COMMIT, 0x50, active=self._subset(free))]
        left = self._choose.integer(0, 2)
        return [by.other(RecordKind.ASYNC_WAIT, 0x58, address=left, active=self._subset(free))]

    def _subset(self, lanes: int) -> int:
        """Choose some of the lanes, at least one, often all."""
        how = self._choose.integer(0, 4)
        if how <= 1:
            return lanes
        if how == 2:
            return lanes & 0xFFFF or lanes
        if how == 3:
            return lanes & self._choose.integer(1, FULL) or lanes
        return 1 << _pick(self._choose, lanes_of(lanes))

    def _access(self, warp: Warp, free: int) -> Record:
        choose = self._choose
        space = _pick(choose, (Space.GLOBAL, Space.GLOBAL, Space.SHARED, Space.SHARED, Space.LOCAL))
        kind = _pick(choose, list(AccessType))
        active = lanes_of(self._subset(free))
        pc, size, flags = _pick(choose, self._pcs), _pick(choose, (1, 2, 4, 4, 4, 8, 16)), 0
        sizes: list[int] | int = size
        plain = kind != AccessType.ATOMIC
        if plain and choose.integer(0, 1 if (space, kind) == (Space.SHARED, AccessType.WRITE) else 7) == 0:
            flags = RecordFlag.ASYNC
            if space == Space.SHARED:
                pc += 1
            else:
                sizes = [choose.integer(1, size) for _ in range(32)]
        elif plain and space == Space.SHARED and size == 16 and choose.integer(0, 3) == 0:
            flags = RecordFlag.MATRIX
            active = [lane for lane in active if lane < 8] or active
        starts = self._starts(space, active, size)
        return warp.access(kind, pc, dict(zip(active, starts, strict=True)), sizes, space=space, flags=flags)

    def _followed(self, access: Record, warp: Warp) -> list[Record]:
        """Let most asynchronous copies read something first, and some be waited for at once and then read."""
        copied = access.flags & RecordFlag.ASYNC and access.type == AccessType.WRITE
        if not copied or access.space != Space.SHARED:
            return [access]
        if self._choose.integer(0, 3):
            return [self._source(access, warp), access]
        if self._choose.integer(0, 1):
            return [access]
        commit = warp.other(RecordKind.ASYNC_COMMIT, 0x50, active=access.active)
        wait = warp.other(RecordKind.ASYNC_WAIT, 0x58, active=self._subset(access.active))
        return [access, commit, wait, replace(access, pc=0x60, type=AccessType.READ, flags=0)]

    def _source(self, access: Record, warp: Warp) -> Record:
        """Make the access to global memory of a copy, by the lanes that do not only fill with zeros."""
        active = lanes_of(self._subset(access.active))
        starts = self._starts(Space.GLOBAL, active, access.size)
        at = dict(zip(active, starts, strict=True))
        return warp.read(access.pc - 1, at, access.size, flags=RecordFlag.ASYNC)

    def _starts(self, space: Space, active: list[int], size: int) -> list[int]:
        choose = self._choose
        bases = self._bases[space]
        base = _pick(choose, bases)
        slots = self._window // size
        how = choose.integer(0, 6)
        offset = size * choose.integer(0, slots - 1)
        if how == 0:
            return [base + offset] * len(active)
        if how == 1:
            return [base + size * (lane % slots) for lane in active]
        if how == 2:
            stride = size * _pick(choose, (1, 1, 2, 3, 8, 32, 33))
            return [base % 2**63 + offset % 64 + stride * lane for lane in active]
        if how == 3:
            return [base + size * ((31 - lane) % slots) for lane in active]
        if how == 4:
            other = _pick(choose, bases)
            return [(base if lane < 16 else other) + offset for lane in active]
        if how == 5:
            return [base + size * (lane // 4 % slots) for lane in active]
        return [base + size * choose.integer(0, slots - 1) for _ in active]

    def _barrier(self, warp: Warp, number: int, free: int, clocks: BlockClocks) -> list[Record]:
        choose = self._choose
        index = choose.integer(0, 2)
        if index in clocks.pending:
            threads = clocks.pending[index].expected
            here = clocks.pending[index].arrived
            free &= ~sum(1 << lane for arrived, lane in here if arrived == number)
        else:
            # The hardware counts whole warps; a barrier of the whole block knows about ended threads.
            whole = self._threads // 32 if len(clocks.alive) == self._threads else 0
            threads = 32 * min(_pick(choose, (0, 0, 1, 2)), whole)
        if threads and (number + 1) * 32 > self._threads:
            return []
        if not free:
            return []
        active = self._subset(free)
        record = warp.barrier(0x30, index, threads, active, wait=bool(choose.integer(0, 3)) or not threads)
        clocks.block_barrier(record)
        return [record]

    def _barrier_of_all(self, block: int, clocks: BlockClocks) -> list[Record]:
        """Let all threads of the block that are free reach barrier 0."""
        if 0 in clocks.pending and clocks.pending[0].expected:
            return []
        records = []
        free = clocks.alive - clocks.blocked()
        pc = _pick(self._choose, (0x38, 0x48, 0x58))
        for number in sorted({warp for warp, _ in free}):
            active = sum(1 << lane for warp, lane in free if warp == number)
            records.append(Warp(block, number, self._sequence).barrier(pc, active=active))
            clocks.block_barrier(records[-1])
        return records

    def _sync(self, warp: Warp, number: int, free: int, clocks: BlockClocks) -> list[Record]:
        pending = [mask for where, mask in clocks.pending_in_warps if where == number]
        mask = pending[0] if pending else _pick(self._choose, (FULL, FULL, 0xFFFF, 3, self._subset(FULL)))
        if not mask & free:
            return []
        record = warp.sync(0x40, mask, self._subset(mask & free))
        clocks.warp_barrier(record)
        return [record]

    def _exit(self, warp: Warp, free: int, clocks: BlockClocks) -> list[Record]:
        if any(pending.expected for pending in clocks.pending.values()):
            return []
        record = warp.exit(self._subset(free))
        clocks.thread_exit(record)
        return [record]

    def _allocate(self, warp: Warp, free: int) -> Record:
        lane = _pick(self._choose, lanes_of(free))
        base = _pick(self._choose, _REGIONS) + self._choose.integer(0, 70)
        if self._choose.integer(0, 3) == 0:
            return warp.free(base, lane)
        return warp.malloc(base, self._choose.integer(0, 90), lane)

    def _other(self, warp: Warp, active: int) -> Record:
        kinds = (
            RecordKind.CLUSTER_ARRIVE,
            RecordKind.CLUSTER_WAIT,
            RecordKind.MBARRIER,
            RecordKind.NOT_ANALYSED,
        )
        kind = _pick(self._choose, kinds)
        if kind == RecordKind.NOT_ANALYSED:
            return warp.not_analysed(0x50, _pick(self._choose, list(Instruction)), active)
        return warp.other(kind, 0x50, active=active)
