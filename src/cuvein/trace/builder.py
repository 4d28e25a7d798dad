"""Records and documents made by hand, for tests, experiments and other sources of traces."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

from cuvein.profile.model import Allocation, Device, Function, Kernel, Launch, Process, Versions
from cuvein.trace.records import HEADER, RECORD_UNIT
from cuvein.vocabulary import (
    WARP_LANES,
    AccessType,
    AddressForm,
    Instruction,
    RecordFlag,
    RecordKind,
    Space,
)

__all__ = ["Recorder", "make_launch", "make_process"]

_HEAD = struct.Struct("<8BIiQIIQq")
assert _HEAD.size == HEADER.itemsize
_FULL = 0xFFFFFFFF
_WRAP = 1 << 64
_ARRIVE_ONLY = 1 << 32
_NO_FLAGS = RecordFlag(0)


class Recorder:
    """Builds the records of one launch.

    Every method appends one record; `data` is the bytes so far. Block and warp are flat ids (warp: in the
    block), pc is the byte offset from the kernel's entry.

    Parameters
    ----------
    launch
        Sequence number of the launch.
    """

    def __init__(self, launch: int = 1) -> None:
        self.launch = launch
        self._data = bytearray()
        self.count = 0

    @property
    def data(self) -> bytes:
        """The records so far."""
        return bytes(self._data)

    def access(
        self,
        pc: int,
        addresses: Mapping[int, int] | Sequence[int],
        size: int | Mapping[int, int],
        space: Space = Space.GLOBAL,
        type: AccessType = AccessType.READ,  # noqa: A002 - NVIDIA's word and the format's
        *,
        block: int = 0,
        warp: int = 0,
        flags: RecordFlag = _NO_FLAGS,
        form: AddressForm | None = None,
    ) -> None:
        """Append a warp-level access.

        Parameters
        ----------
        pc
            Byte offset of the instruction.
        addresses
            Address by active lane, or those of lanes 0, 1, 2, ...
        size
            Bytes each lane accesses (1, 2, 4, 8 or 16), or by lane when they differ.
        space, type
            Where and what.
        block, warp
            Who.
        flags
            Further properties; LANE_SIZES is set here when needed.
        form
            How the addresses are stored; by default the shortest form that holds them.

        Raises
        ------
        ValueError
            When there is no lane, a lane is out of range or the form cannot hold the addresses.
        """
        lanes = dict(addresses) if isinstance(addresses, Mapping) else dict(enumerate(addresses))
        if not lanes or min(lanes) < 0 or max(lanes) >= WARP_LANES:
            raise ValueError("an access needs addresses for some of the lanes 0 to 31")
        lowest = min(lanes)
        base = lanes[lowest]
        shortest, stride = _form(lanes)
        form = shortest if form is None else form
        if form < shortest:
            raise ValueError(f"these addresses do not fit the form {form.name}")
        tail = b""
        if form is AddressForm.LANES_32:
            tail = struct.pack("<32i", *(lanes.get(lane, base) - base for lane in range(WARP_LANES)))
        elif form is AddressForm.LANES_64:
            tail = struct.pack("<32Q", *(lanes.get(lane, 0) for lane in range(WARP_LANES)))
        if isinstance(size, Mapping):
            if set(size) != set(lanes):
                raise ValueError("sizes and addresses must name the same lanes")
            flags |= RecordFlag.LANE_SIZES
            tail += bytes(size.get(lane, 0) for lane in range(WARP_LANES))
            largest = max(size.values())
            size = 1 << (largest - 1).bit_length()
        self._append(
            RecordKind.ACCESS,
            pc=pc,
            active=sum(1 << lane for lane in lanes),
            block=block,
            warp=warp,
            form=form,
            flags=flags,
            space=space,
            type=type,
            size=size,
            address=base,
            value=stride if form is AddressForm.AFFINE else 0,
            tail=tail,
        )

    def affine(
        self,
        pc: int,
        address: int,
        *,
        stride: int,
        size: int,
        space: Space = Space.GLOBAL,
        type: AccessType = AccessType.READ,  # noqa: A002
        block: int = 0,
        warp: int = 0,
        active: int = _FULL,
        flags: RecordFlag = _NO_FLAGS,
    ) -> None:
        """Append an access: the lowest active lane at `address`, the others `stride` bytes a lane further."""
        self._append(
            RecordKind.ACCESS,
            pc=pc,
            active=active,
            block=block,
            warp=warp,
            flags=flags,
            space=space,
            type=type,
            size=size,
            address=address,
            value=stride,
        )

    def barrier(
        self,
        pc: int = 0,
        *,
        block: int = 0,
        warp: int = 0,
        active: int = _FULL,
        index: int = 0,
        expected: int = 0,
        arrive_only: bool = False,
    ) -> None:
        """Append a warp's arrival at a block barrier of ``expected`` threads, 0 meaning the whole block."""
        value = expected | (_ARRIVE_ONLY if arrive_only else 0)
        self._append(
            RecordKind.BLOCK_BARRIER,
            pc=pc,
            active=active,
            block=block,
            warp=warp,
            address=index,
            value=value,
        )

    def warp_sync(
        self, pc: int = 0, *, block: int = 0, warp: int = 0, active: int = _FULL, mask: int = _FULL
    ) -> None:
        """Append ``__syncwarp(mask)``."""
        self._append(RecordKind.WARP_SYNC, pc=pc, active=active, block=block, warp=warp, address=mask)

    def thread_exit(self, *, block: int = 0, warp: int = 0, active: int = _FULL) -> None:
        """Append the end of the active lanes."""
        self._append(RecordKind.THREAD_EXIT, active=active, block=block, warp=warp)

    def launch_end(self, *, block: int = 0, warp: int = 0) -> None:
        """Append the end of the launch: every thread has ended."""
        self._append(RecordKind.LAUNCH_END, block=block, warp=warp)

    def async_commit(self, pc: int = 0, *, block: int = 0, warp: int = 0, active: int = _FULL) -> None:
        """Append ``cp.async.commit_group``."""
        self._append(RecordKind.ASYNC_COMMIT, pc=pc, active=active, block=block, warp=warp)

    def async_wait(
        self, pc: int = 0, *, block: int = 0, warp: int = 0, active: int = _FULL, pending: int = 0
    ) -> None:
        """Append ``cp.async.wait_group pending``."""
        self._append(RecordKind.ASYNC_WAIT, pc=pc, active=active, block=block, warp=warp, address=pending)

    def cluster_arrive(self, pc: int = 0, *, block: int = 0, warp: int = 0, active: int = _FULL) -> None:
        """Append ``barrier.cluster.arrive``."""
        self._append(RecordKind.CLUSTER_ARRIVE, pc=pc, active=active, block=block, warp=warp)

    def cluster_wait(self, pc: int = 0, *, block: int = 0, warp: int = 0, active: int = _FULL) -> None:
        """Append ``barrier.cluster.wait``."""
        self._append(RecordKind.CLUSTER_WAIT, pc=pc, active=active, block=block, warp=warp)

    def device_malloc(
        self, pc: int, address: int, size: int, *, block: int = 0, warp: int = 0, lane: int = 0
    ) -> None:
        """Append a ``malloc`` in the kernel that returned `address`."""
        self._append(
            RecordKind.DEVICE_MALLOC,
            pc=pc,
            active=1 << lane,
            block=block,
            warp=warp,
            address=address,
            value=size,
        )

    def device_free(self, pc: int, address: int, *, block: int = 0, warp: int = 0, lane: int = 0) -> None:
        """Append a ``free`` in the kernel."""
        self._append(RecordKind.DEVICE_FREE, pc=pc, active=1 << lane, block=block, warp=warp, address=address)

    def not_analysed(
        self, pc: int, instruction: Instruction, *, block: int = 0, warp: int = 0, active: int = _FULL
    ) -> None:
        """Append an instruction that is counted only."""
        self._append(
            RecordKind.NOT_ANALYSED, pc=pc, active=active, block=block, warp=warp, address=int(instruction)
        )

    def mbarrier(
        self, pc: int, address: int, action: int, *, block: int = 0, warp: int = 0, active: int = _FULL
    ) -> None:
        """Append an action on a barrier object in shared memory."""
        self._append(
            RecordKind.MBARRIER,
            pc=pc,
            active=active,
            block=block,
            warp=warp,
            space=Space.SHARED,
            address=address,
            value=action,
        )

    def _append(
        self,
        kind: RecordKind,
        *,
        pc: int = 0,
        active: int = 0,
        block: int = 0,
        warp: int = 0,
        form: AddressForm = AddressForm.AFFINE,
        flags: RecordFlag = _NO_FLAGS,
        space: Space = Space.GLOBAL,
        type: AccessType = AccessType.READ,  # noqa: A002
        size: int = 0,
        address: int = 0,
        value: int = 0,
        tail: bytes = b"",
    ) -> None:
        length = (_HEAD.size + len(tail)) // RECORD_UNIT
        self._data += _HEAD.pack(
            length,
            kind,
            form,
            flags,
            space,
            type,
            size,
            warp,
            active,
            pc,
            block,
            self.launch,
            0,
            address,
            value,
        )
        self._data += tail
        self.count += 1


def _form(lanes: Mapping[int, int]) -> tuple[AddressForm, int]:
    """Choose the shortest form that holds the addresses, and find the stride of the affine form."""
    ordered = sorted(lanes)
    lowest = ordered[0]
    base = lanes[lowest]
    stride = 0
    if len(ordered) > 1:
        stride = (lanes[ordered[1]] - base) // (ordered[1] - lowest)
    if -(_WRAP >> 1) <= stride < _WRAP >> 1 and all(
        lanes[lane] == base + (lane - lowest) * stride for lane in ordered
    ):
        return AddressForm.AFFINE, stride
    if all(-(1 << 31) <= address - base < 1 << 31 for address in lanes.values()):
        return AddressForm.LANES_32, 0
    return AddressForm.LANES_64, 0


def make_process(identifier: str = "handmade", *, executable: str = "handmade") -> Process:
    """Describe a process that never ran."""
    return Process(
        id=identifier, pid=0, executable=executable, arguments=[executable], versions=Versions(cuvein="0")
    )


def make_launch(
    sequence: int = 1,
    *,
    name: str = "kernel",
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    cluster: tuple[int, int, int] | None = None,
    shared_bytes: tuple[int, int] = (0, 0),
    allocations: Iterable[Allocation | tuple[int, int]] = (),
    functions: Iterable[Function] = (),
) -> Launch:
    """Describe a launch with defaults for what a hand-made trace leaves open.

    Parameters
    ----------
    sequence
        Number of the launch in its process, from 1.
    name
        Name of the kernel.
    grid, block, cluster
        Shape of the launch.
    shared_bytes
        Static and dynamic shared memory of a block.
    allocations
        Allocations, or pairs of address and size.
    functions
        Functions beside the kernel, which gets 64 KiB from offset 0.
    """
    return Launch(
        sequence=sequence,
        kernel=Kernel(name=name, mangled=name),
        grid=grid,
        block=block,
        cluster=cluster,
        shared_bytes=shared_bytes,
        device=Device(ordinal=0, name="none", compute_capability=(0, 0), multiprocessors=0),
        context=0,
        stream=0,
        functions=[Function(name=name, mangled=name, offset=0, size=1 << 16), *functions],
        allocations=[
            item if isinstance(item, Allocation) else Allocation(address=item[0], size=item[1], kind="device")
            for item in allocations
        ],
    )
