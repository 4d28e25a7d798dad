"""Short ways to write down records and launches in tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from cuvein.profile.model import Allocation, Launch
from cuvein.vocabulary import AccessType, Instruction, RecordFlag, RecordKind, Space
from reference.records import ARRIVE_ONLY, FULL, Record
from reference.sample import LAUNCH

__all__ = ["Warp", "launch"]

# Address of each lane: a rule, a list that starts at lane 0, or a table; None or absent: inactive.
Starts = Callable[[int], int | None] | Sequence[int | None] | Mapping[int, int]


def launch(
    sequence: int = 1,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    cluster: tuple[int, int, int] | None = None,
    allocations: Sequence[tuple[int, int]] = (),
) -> Launch:
    """Describe a launch; ``allocations`` are pairs of address and size."""
    return msgspec.structs.replace(
        LAUNCH,
        sequence=sequence,
        grid=grid,
        block=block,
        cluster=cluster,
        allocations=[Allocation(address=address, size=size, kind="device") for address, size in allocations],
    )


class Warp:
    """Writes the records of one warp; every method returns one record."""

    def __init__(self, block: int = 0, warp: int = 0, launch: int = 1) -> None:
        self._where: dict[str, Any] = {"block": block, "warp": warp, "launch": launch}

    def read(self, pc: int, starts: Starts, size: int | Sequence[int] = 4, **more: Any) -> Record:
        """Make a load."""
        return self.access(AccessType.READ, pc, starts, size, **more)

    def write(self, pc: int, starts: Starts, size: int | Sequence[int] = 4, **more: Any) -> Record:
        """Make a store."""
        return self.access(AccessType.WRITE, pc, starts, size, **more)

    def atomic(self, pc: int, starts: Starts, size: int | Sequence[int] = 4, **more: Any) -> Record:
        """Make an atomic operation."""
        return self.access(AccessType.ATOMIC, pc, starts, size, **more)

    def access(
        self,
        kind: AccessType,
        pc: int,
        starts: Starts,
        size: int | Sequence[int] = 4,
        *,
        space: Space = Space.GLOBAL,
        flags: int = 0,
    ) -> Record:
        """Make an access; ``size`` is that of every lane, or a list by lane."""
        found: list[int | None]
        if isinstance(starts, Mapping):
            found = [starts.get(lane) for lane in range(32)]
        elif isinstance(starts, Sequence):
            found = [*starts, *[None] * (32 - len(starts))]
        else:
            found = [starts(lane) for lane in range(32)]
        sizes = [size] * 32 if isinstance(size, int) else [*size, *[0] * (32 - len(size))]
        widest = max(bytes_of for start, bytes_of in zip(found, sizes, strict=True) if start is not None)
        return Record(
            kind=RecordKind.ACCESS,
            pc=pc,
            active=sum(1 << lane for lane in range(32) if found[lane] is not None),
            space=space,
            type=kind,
            size=1 << (widest - 1).bit_length(),
            flags=flags | (0 if isinstance(size, int) else RecordFlag.LANE_SIZES),
            starts=tuple(start or 0 for start in found),
            sizes=tuple(sizes[lane] if found[lane] is not None else 0 for lane in range(32)),
            **self._where,
        )

    def barrier(
        self, pc: int = 0, index: int = 0, threads: int = 0, active: int = FULL, *, wait: bool = True
    ) -> Record:
        """Reach a block barrier; ``threads`` 0: the whole block."""
        value = threads | (0 if wait else ARRIVE_ONLY)
        return self._other(RecordKind.BLOCK_BARRIER, pc, active, index, value)

    def sync(self, pc: int = 0, mask: int = FULL, active: int | None = None) -> Record:
        """Reach a ``__syncwarp(mask)``, with all its lanes unless ``active`` says which."""
        return self._other(RecordKind.WARP_SYNC, pc, mask if active is None else active, mask)

    def exit(self, active: int = FULL) -> Record:
        """End threads."""
        return self._other(RecordKind.THREAD_EXIT, 0, active)

    def malloc(self, address: int, size: int, lane: int = 0) -> Record:
        """Allocate on the device heap."""
        return self._other(RecordKind.DEVICE_MALLOC, 0, 1 << lane, address, size)

    def free(self, address: int, lane: int = 0) -> Record:
        """Free on the device heap."""
        return self._other(RecordKind.DEVICE_FREE, 0, 1 << lane, address)

    def not_analysed(self, pc: int, instruction: Instruction, active: int = FULL) -> Record:
        """Execute something that is only counted."""
        return self._other(RecordKind.NOT_ANALYSED, pc, active, instruction)

    def other(self, kind: RecordKind, pc: int = 0, address: int = 0, active: int = FULL) -> Record:
        """Make a record of another kind."""
        return self._other(kind, pc, active, address)

    def _other(self, kind: RecordKind, pc: int, active: int, address: int = 0, value: int = 0) -> Record:
        return Record(kind=kind, pc=pc, active=active, address=address, value=value, **self._where)
