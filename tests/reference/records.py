"""Access records as tests write them, and their bytes: a second reading of ``native/model/record.h``."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuvein.vocabulary import AccessType, AddressForm, RecordFlag, RecordKind, Space

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["FULL", "Record", "decode", "encode", "lanes_of"]

FULL = 0xFFFFFFFF
ARRIVE_ONLY = 1 << 32

_HEADER = struct.Struct("<BBBBBBBBIiQIIQq")
_LANES_32 = struct.Struct("<32i")
_LANES_64 = struct.Struct("<32Q")
_SIZES = struct.Struct("<32B")


@dataclass(frozen=True)
class Record:
    """One record. ``starts`` and ``sizes``: address and bytes of each lane, 0 for inactive lanes.

    ``size`` is what the instruction accesses in a lane; a lane may access less where an asynchronous copy
    fills the rest with zeros. ``address`` and ``value`` are for the other kinds; an access gets them from
    ``starts`` when it is encoded.
    """

    kind: RecordKind
    pc: int = 0
    block: int = 0
    warp: int = 0
    active: int = FULL
    launch: int = 1
    space: Space = Space.GLOBAL
    type: AccessType = AccessType.READ
    flags: int = 0
    size: int = 0
    starts: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    address: int = 0
    value: int = 0


def lanes_of(mask: int) -> list[int]:
    """Return the lanes of a mask, lowest first."""
    return [lane for lane in range(32) if mask >> lane & 1]


def encode(records: Iterable[Record], form: AddressForm | None = None) -> bytes:
    """Make the bytes of records; accesses in ``form`` if it can express them, else in the shortest one."""
    return b"".join(_encode(record, form) for record in records)


def decode(data: bytes) -> Iterator[Record]:
    """Read records back, one after the other."""
    offset = 0
    while offset < len(data):
        length = data[offset] * 16
        yield _decode(data[offset : offset + length])
        offset += length


def _encode(record: Record, form: AddressForm | None) -> bytes:
    active = lanes_of(record.active)
    address, value, tail, flags = record.address, record.value, b"", record.flags
    chosen = AddressForm.AFFINE
    if record.kind == RecordKind.ACCESS:
        address, value = record.starts[active[0]], 0
        forms = _forms(record, active)
        chosen = form if form in forms else forms[0]
        if chosen == AddressForm.AFFINE and len(active) > 1:
            value = (record.starts[active[1]] - address) // (active[1] - active[0])
        elif chosen == AddressForm.LANES_32:
            tail = _LANES_32.pack(*(record.starts[i] - address if i in active else 0 for i in range(32)))
        elif chosen == AddressForm.LANES_64:
            tail = _LANES_64.pack(*record.starts)
        if any(record.sizes[lane] != record.size for lane in active):
            flags |= RecordFlag.LANE_SIZES
        if flags & RecordFlag.LANE_SIZES:
            tail += _SIZES.pack(*record.sizes)
    header = _HEADER.pack(
        (_HEADER.size + len(tail)) // 16,
        record.kind,
        chosen,
        flags,
        record.space,
        record.type,
        record.size,
        record.warp,
        record.active,
        record.pc,
        record.block,
        record.launch,
        0,
        address,
        value,
    )
    return header + tail


def _forms(record: Record, active: list[int]) -> list[AddressForm]:
    first, base = active[0], record.starts[active[0]]
    forms = []
    strides = {
        ((record.starts[i] - base) // (i - first), (record.starts[i] - base) % (i - first))
        for i in active[1:]
    }
    if len(strides) <= 1 and all(rest == 0 for _, rest in strides):
        forms.append(AddressForm.AFFINE)
    if all(-(2**31) <= record.starts[i] - base < 2**31 for i in active):
        forms.append(AddressForm.LANES_32)
    return [*forms, AddressForm.LANES_64]


def _decode(data: bytes) -> Record:
    (
        _,
        kind,
        form,
        flags,
        space,
        kind_of_access,
        size,
        warp,
        active,
        pc,
        block,
        launch,
        _,
        address,
        value,
    ) = _HEADER.unpack_from(data)
    starts: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    if kind == RecordKind.ACCESS:
        lanes = lanes_of(active)
        offset = _HEADER.size
        if form == AddressForm.AFFINE:
            starts = tuple(address + (i - lanes[0]) * value if i in lanes else 0 for i in range(32))
        elif form == AddressForm.LANES_32:
            offsets = _LANES_32.unpack_from(data, offset)
            starts = tuple(address + offsets[i] if i in lanes else 0 for i in range(32))
            offset += _LANES_32.size
        else:
            starts = _LANES_64.unpack_from(data, offset)
            offset += _LANES_64.size
        if flags & RecordFlag.LANE_SIZES:
            sizes = _SIZES.unpack_from(data, offset)
        else:
            sizes = tuple(size if i in lanes else 0 for i in range(32))
        address = value = 0
    return Record(
        kind=RecordKind(kind),
        pc=pc,
        block=block,
        warp=warp,
        active=active,
        launch=launch,
        space=Space(space),
        type=AccessType(kind_of_access),
        flags=flags,
        size=size,
        starts=starts,
        sizes=sizes,
        address=address,
        value=value,
    )
