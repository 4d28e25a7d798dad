"""What cuvein computes, written to be read: byte by byte, lane by lane, with dictionaries."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cuvein.vocabulary import AccessType, Instruction, Label, RecordFlag, RecordKind, Space
from reference.barriers import BlockClocks
from reference.copies import AsyncCopies, Copy
from reference.graph import Graph, Key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuvein.profile.model import Launch
    from reference.records import Record

__all__ = ["Model", "analyse"]

# A byte of memory: space, whose it is (nobody's, a block's, a thread's), address.
Byte = tuple[Space, object, int]


@dataclass(frozen=True)
class Touch:
    """The most recent access to a byte: who, where in the program, after which barriers."""

    node: Key
    block: int
    warp: int
    lane: int
    clock: int
    warp_barriers: int
    copy: Copy | None
    covered: Touch | None = None  # an earlier access that a later one may race with, see _covered


@dataclass(frozen=True)
class Past:
    """An access that no barrier has been credited with ordering yet."""

    block: int
    thread: tuple[int, int, int]
    clock: int
    writes: bool


_KINDS = {
    RecordKind.BLOCK_BARRIER: "block",
    RecordKind.WARP_SYNC: "warp",
    RecordKind.CLUSTER_ARRIVE: "cluster",
    RecordKind.CLUSTER_WAIT: "cluster",
    RecordKind.MBARRIER: "mbarrier",
}


_OF_COPIES = {RecordKind.ASYNC_COMMIT, RecordKind.ASYNC_WAIT, RecordKind.MBARRIER}


class Model:
    """The graph of one launch, record by record."""

    def __init__(self, launch: Launch) -> None:
        self.graph = Graph()
        self.ended = False
        self.distinct_bytes: Counter[Space] = Counter()
        self._launch = launch
        self._threads = launch.block[0] * launch.block[1] * launch.block[2]
        self._memory: dict[Byte, Touch] = {}
        self._ever: set[Byte] = set()
        self._blocks: dict[int, BlockClocks] = {}
        self._copies: dict[int, AsyncCopies] = defaultdict(AsyncCopies)
        self._past: dict[Byte, list[Past]] = {}
        # Of copies whose access to shared memory is still to come, by thread: where, and what is read.
        self._copied: dict[tuple[int, int, int], tuple[int, int]] = {}

    def take(self, record: Record) -> None:
        """Take the next record of the launch."""
        if record.kind in _KINDS:
            self.graph.barriers[record.pc, _KINDS[record.kind]].executions += 1
        if record.kind == RecordKind.ACCESS:
            self._access(record)
        elif record.kind == RecordKind.BLOCK_BARRIER:
            self._clocks(record.block).block_barrier(record)
        elif record.kind == RecordKind.WARP_SYNC:
            self._clocks(record.block).warp_barrier(record)
        elif record.kind in _OF_COPIES:
            self._copies[record.block].take(record, self._clocks(record.block))
        elif record.kind == RecordKind.THREAD_EXIT:
            if self._clocks(record.block).thread_exit(record):
                self._forget(lambda byte: byte[0] != Space.GLOBAL and _block_of(byte) == record.block)
        elif record.kind == RecordKind.DEVICE_MALLOC:
            new = range(record.address, record.address + record.value)
            self._forget(lambda byte: byte[0] == Space.GLOBAL and byte[2] in new)
        elif record.kind == RecordKind.NOT_ANALYSED:
            self.graph.not_analysed[Instruction(record.address).name.lower()] += 1
        elif record.kind == RecordKind.LAUNCH_END:
            self.ended = True

    def end(self) -> None:
        """Settle what only the whole launch can say."""
        plain = all(clocks.all_plain for clocks in self._blocks.values())
        for (_, kind), barrier in self.graph.barriers.items():
            barrier.ordered_bytes = (barrier.ordered_bytes or 0) if kind == "block" and plain else None

    def _clocks(self, block: int) -> BlockClocks:
        if block not in self._blocks:
            self._blocks[block] = BlockClocks(self._threads)
        return self._blocks[block]

    def _forget(self, condition: object) -> None:
        for byte in [byte for byte in self._memory if condition(byte)]:  # type: ignore[operator]
            del self._memory[byte]
            del self._past[byte]
            self._ever.discard(byte)

    def _access(self, record: Record) -> None:
        key: Key = (record.pc, record.space, record.type)
        lanes = [
            (lane, record.starts[lane], record.sizes[lane]) for lane in range(32) if record.active >> lane & 1
        ]
        clocks = self._clocks(record.block)
        touched: dict[Byte, int] = {}
        covered: dict[Byte, Touch | None] = {}
        for lane, start, size in lanes:
            edges_of_lane = set()
            for address in range(start, start + size):
                byte = (record.space, _owner(record, lane), address)
                prior = self._memory.get(byte)
                name: tuple[Key, Key | None, Label]
                if byte in touched:
                    name = (key, key, Label.WARP_SAME_INST)
                elif prior is None:
                    name = (key, None, Label.COLD)
                else:
                    name = (key, prior.node, self._label(record, lane, prior))
                edge = self.graph.edges[name]
                edge.bytes += 1
                edges_of_lane.add(name)
                if prior is not None and byte not in touched:
                    shown = None
                    if _may_race(name[2], record, prior):
                        ordered = _ordered(
                            name[2], record, lane, prior, clocks, copies=self._copies[record.block]
                        )
                        edge.unordered = (edge.unordered or 0) + (not ordered)
                        shown = prior.node if not ordered and name[2] == Label.BLOCK else None
                    self._hidden_hazard(key, record, prior.covered, clocks, shown=shown)
                    covered[byte] = self._covered(record, prior, clocks)
                if byte not in self._ever:
                    self._ever.add(byte)
                    self.distinct_bytes[record.space] += 1
                touched[byte] = lane
                self._order(byte, record, lane, clocks)
            for name in edges_of_lane:
                self.graph.edges[name].count += 1
        copies = _copies_into_shared(record)
        issued = {
            lane: self._copies[record.block].issue((record.warp, lane)) for lane, _, _ in lanes if copies
        }
        for byte, lane in touched.items():
            self._memory[byte] = Touch(
                node=key,
                block=record.block,
                warp=record.warp,
                lane=lane,
                clock=clocks.warp[record.warp],
                warp_barriers=len(clocks.warp_barriers[record.warp]),
                copy=issued.get(lane),
                covered=covered.get(byte),
            )
        self._describe(record, key, lanes)
        if record.flags & RecordFlag.ASYNC and record.space == Space.GLOBAL:
            for lane, start, _ in lanes:
                self._copied[record.block, record.warp, lane] = record.pc, start

    def _hidden_hazard(
        self, key: Key, record: Record, earlier: Touch | None, clocks: BlockClocks, *, shown: Key | None
    ) -> None:
        """Count a byte that races with the access which the most recent one covers.

        ``shown`` is the node with which the byte's edge says that it races: once is enough.
        """
        if earlier is None or earlier.warp == record.warp or earlier.node == shown:
            return
        if not _conflict(record.type, earlier):
            return
        if earlier.clock >= clocks.warp[record.warp]:
            self.graph.hidden_hazards[key, earlier.node] += 1

    def _covered(self, record: Record, prior: Touch, clocks: BlockClocks) -> Touch | None:
        """Choose which of two earlier accesses a later one may race with when it meets only this one.

        A write has met whatever came before it, so nothing is hidden behind it. Behind a read or an atomic it
        is the most recent access, unless that is of the same type and the one which it covers is not ordered
        before this one and of more use: it is of another type, or the most recent one is of this warp.
        """
        if record.space != Space.SHARED or record.type == AccessType.WRITE:
            return None
        if prior.copy is not None:
            # The copy writes when it is waited for; one that was not races with this access already.
            if self._copies[record.block].unknown or prior.copy.done is None:
                return None
            return replace(prior, clock=prior.copy.done[0], covered=None)
        if prior.node[2] != record.type:
            return prior
        before = prior.covered
        if before is None or before.clock < clocks.warp[record.warp]:
            return prior
        return before if before.node[2] != record.type or prior.warp == record.warp else prior

    def _order(self, byte: Byte, record: Record, lane: int, clocks: BlockClocks) -> None:
        """Credit the last barrier of the block if it separates the lane from an earlier access that matters.

        Once it is credited, whatever lies before it needs no other barrier. Reads and writes of a byte that
        follow one another without such a barrier are kept, so that none hides another. Where they lay on both
        sides of a barrier, engines do not know which came after the one that is credited: all count as such.
        """
        past = self._past.setdefault(byte, [])
        access = Past(
            record.block,
            (record.block, record.warp, lane),
            clocks.warp[record.warp],
            record.type != AccessType.READ,
        )
        if (
            clocks.completed
            and past
            and past[-1].block == access.block
            and any(earlier.thread != access.thread for earlier in past)
            and any(earlier.writes for earlier in [*past, access])
            and any((earlier.block, earlier.clock) != (access.block, access.clock) for earlier in past)
        ):
            barrier = self.graph.barriers[clocks.completed[-1], "block"]
            barrier.ordered_bytes = (barrier.ordered_bytes or 0) + 1
            on_both_sides = len({(earlier.block, earlier.clock) for earlier in past}) > 1
            past[:] = (
                [replace(earlier, block=access.block, clock=access.clock) for earlier in past]
                if on_both_sides
                else []
            )
        past.append(access)

    def _label(self, record: Record, lane: int, prior: Touch) -> Label:
        if prior.block != record.block:
            same = self._cluster(prior.block) == self._cluster(record.block)
            return Label.CLUSTER if same else Label.GRID
        if prior.warp != record.warp:
            return Label.BLOCK
        return Label.THREAD if prior.lane == lane else Label.WARP_DIFF_INST

    def _cluster(self, block: int) -> tuple[int, int, int]:
        """Return the coordinates of the block's cluster; without clusters every block is its own."""
        grid, size = self._launch.grid, self._launch.cluster or (1, 1, 1)
        x, y, z = block % grid[0], block // grid[0] % grid[1], block // grid[0] // grid[1]
        return x // size[0], y // size[1], z // size[2]

    def _describe(self, record: Record, key: Key, lanes: list[tuple[int, int, int]]) -> None:
        """Count the execution in the node's distributions."""
        node = self.graph.nodes[key]
        node.size = max(node.size, record.size)
        node.asynchronous |= bool(record.flags & RecordFlag.ASYNC)
        node.executions += 1
        node.bytes += sum(size for _, _, size in lanes)
        node.lanes[len(lanes)] += 1
        self.graph.accesses[record.space] += 1
        if record.space == Space.SHARED:
            self._describe_shared(record, key, lanes)
            return
        where = _interleaved if record.space == Space.LOCAL else _plain
        node.addresses[len({where(lane, start) for lane, start, _ in lanes})] += 1
        node.sectors[
            len({where(lane, start + i) // 32 for lane, start, size in lanes for i in range(size)})
        ] += 1
        if record.space == Space.GLOBAL:
            for _, start, size in lanes:
                for address in range(start, start + size):
                    region = self._region(address)
                    node.allocations[region] += 1
                    self.graph.unknown_bytes += region is None

    def _describe_shared(self, record: Record, key: Key, lanes: list[tuple[int, int, int]]) -> None:
        node = self.graph.nodes[key]
        group_lanes = 32 if record.size <= 4 else 16 if record.size == 8 else 8
        groups = [range(first, first + group_lanes) for first in range(0, 32, group_lanes)]
        if record.type == AccessType.READ and group_lanes < 32:
            starts = {lane: start for lane, start, _ in lanes}
            pairs = [range(first, first + 2 * group_lanes) for first in range(0, 32, 2 * group_lanes)]
            groups = []
            for pair in pairs:
                alike = any(
                    all(
                        starts[lane] == starts.get(lane ^ distance, starts[lane])
                        for lane in pair
                        if lane in starts
                    )
                    for distance in (1, 2)
                )
                groups += [pair] if alike else [pair[:group_lanes], pair[group_lanes:]]
        wavefronts = ideal = 0
        all_words: set[int] = set()
        for group in groups:
            words = {(start + i) // 4 for lane, start, size in lanes if lane in group for i in range(size)}
            banks = Counter(word % 32 for word in words)
            wavefronts += max(banks.values(), default=0)
            ideal += -(-len(words) // 32)
            all_words |= words
        if _copies_into_shared(record) and record.size in {4, 8}:
            wavefronts = sum(self._wavefronts_of_copy(record, lanes, group) for group in groups)
        node.words[len(all_words)] += 1
        node.wavefronts[wavefronts] += 1
        node.ideal_wavefronts[ideal] += 1

    def _wavefronts_of_copy(self, record: Record, lanes: list[tuple[int, int, int]], group: range) -> int:
        """Count the turns that lanes of a copy through L1 take, each after all lower ones in its banks.

        What lanes read lies in banks of L1 as what they write does in shared memory.
        """
        turns: dict[tuple[str, int], int] = defaultdict(int)
        for lane, start, _ in lanes:
            if lane not in group:
                continue
            banks = [("shared", start // record.size % len(group))]
            copied = self._copied.pop((record.block, record.warp, lane), None)
            if copied and copied[0] == record.pc - 1:
                banks.append(("L1", copied[1] // record.size % len(group)))
            turn = 1 + max(turns[bank] for bank in banks)
            turns.update(dict.fromkeys(banks, turn))
        return max(turns.values(), default=0)

    def _region(self, address: int) -> tuple[int, int] | None:
        for allocation in self._launch.allocations:
            if allocation.address <= address < allocation.address + allocation.size:
                return allocation.address, allocation.size
        return None


def analyse(launches: Iterable[Launch], records: Iterable[Record]) -> dict[int, Model]:
    """Run the records of several launches, interleaved as they are, through a model each."""
    models = {launch.sequence: Model(launch) for launch in launches}
    for record in records:
        models[record.launch].take(record)
    for model in models.values():
        model.end()
    return models


def _owner(record: Record, lane: int) -> object:
    if record.space == Space.SHARED:
        return record.block
    if record.space == Space.LOCAL:
        return (record.block, record.warp, lane)
    return None


def _block_of(byte: Byte) -> int:
    owner = byte[1]
    return owner[0] if isinstance(owner, tuple) else owner  # type: ignore[return-value]


def _plain(_: int, address: int) -> int:
    return address


def _interleaved(lane: int, address: int) -> int:
    """Return where the hardware puts a byte of a lane's local memory: words of the 32 lanes side by side."""
    return address // 4 * 128 + lane * 4 + address % 4


def _may_race(label: Label, record: Record, prior: Touch) -> bool:
    """Say whether order matters: two threads of one block, not both reading, not both atomic."""
    if label == Label.THREAD:
        return prior.copy is not None
    if label not in {Label.WARP_DIFF_INST, Label.BLOCK}:
        return False
    return _conflict(record.type, prior)


def _conflict(type: AccessType, prior: Touch) -> bool:  # noqa: A002
    """Say whether the order of the two matters: not both reads, not both atomics."""
    return type != prior.node[2] or type == AccessType.WRITE


def _copies_into_shared(record: Record) -> bool:
    asynchronous = bool(record.flags & RecordFlag.ASYNC)
    return asynchronous and record.space == Space.SHARED and record.type == AccessType.WRITE


def _ordered(
    label: Label, record: Record, lane: int, prior: Touch, clocks: BlockClocks, *, copies: AsyncCopies
) -> bool:
    """Say whether a barrier separates the access from the prior one, or from the wait for it."""
    clock, warp_barriers = prior.clock, prior.warp_barriers
    if prior.copy is not None:
        if copies.unknown:
            return True
        if prior.copy.done is None:
            return False
        if label == Label.THREAD:
            return True
        clock, warp_barriers = prior.copy.done
    if clock < clocks.warp[record.warp]:
        return True
    since = clocks.warp_barriers[record.warp][warp_barriers:] if label == Label.WARP_DIFF_INST else []
    return any(mask >> lane & 1 and mask >> prior.lane & 1 for mask in since)
