"""Records of the access stream as Python and numpy see them: ``native/model/record.h`` is the layout."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cuvein.native import InvalidError
from cuvein.vocabulary import WARP_LANES, AccessType, AddressForm, RecordFlag, RecordKind, Space

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HEADER", "RECORD_UNIT", "Batch", "Record"]

RECORD_UNIT = 16
_NO_FLAGS = RecordFlag(0)

# RecordHeader: 48 bytes.
HEADER = np.dtype(
    [
        ("length", "u1"),
        ("kind", "u1"),
        ("form", "u1"),
        ("flags", "u1"),
        ("space", "u1"),
        ("type", "u1"),
        ("size", "u1"),
        ("warp", "u1"),
        ("active", "<u4"),
        ("pc", "<i4"),
        ("block", "<u8"),
        ("launch", "<u4"),
        ("reserved", "<u4"),
        ("address", "<u8"),
        ("value", "<i8"),
    ]
)

_OFFSETS_32 = np.dtype("<i4")
_ADDRESSES_64 = np.dtype("<u8")
_TAIL_BYTES = {
    AddressForm.AFFINE: 0,
    AddressForm.LANES_32: 4 * WARP_LANES,
    AddressForm.LANES_64: 8 * WARP_LANES,
}


@dataclass(frozen=True)
class Record:
    """One record. ``addresses`` and ``sizes`` (bytes) are by active lane and filled for accesses only."""

    kind: RecordKind
    launch: int
    block: int
    warp: int
    pc: int = 0
    active: int = 0
    space: Space = Space.GLOBAL
    type: AccessType = AccessType.READ
    size: int = 0
    flags: RecordFlag = _NO_FLAGS
    form: AddressForm = AddressForm.AFFINE
    address: int = 0
    value: int = 0
    addresses: dict[int, int] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)


class Batch:
    """Whole records, in stream order.

    Parameters
    ----------
    data
        The bytes of the records.

    Attributes
    ----------
    data
        The same bytes.
    offsets
        Where each record begins in `data`, shape ``(n,)``.
    headers
        The heads of the records, dtype `HEADER`, shape ``(n,)``.

    Raises
    ------
    InvalidError
        When the bytes are not whole records.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.offsets = _offsets(data)
        raw = np.frombuffer(data, np.uint8)
        if len(self.offsets) * HEADER.itemsize == len(data):
            self.headers = np.frombuffer(data, HEADER)
        else:
            places = self.offsets[:, None] + np.arange(HEADER.itemsize)
            self.headers = np.ascontiguousarray(raw[places]).view(HEADER)[:, 0]

    def __len__(self) -> int:
        return len(self.offsets)

    def __iter__(self) -> Iterator[Record]:
        for index in range(len(self)):
            yield self[index]

    def addresses(self) -> npt.NDArray[np.uint64]:
        """Address of each lane, shape ``(n, 32)``; 0 for inactive lanes and other records than accesses."""
        result = np.zeros((len(self), WARP_LANES), np.uint64)
        raw = np.frombuffer(self.data, np.uint8)
        access = self.headers["kind"] == RecordKind.ACCESS
        form = self.headers["form"]
        active = self._active()

        chosen = np.flatnonzero(access & (form == AddressForm.AFFINE))
        lowest = active[chosen].argmax(axis=1).astype(np.int64)
        distance = np.arange(WARP_LANES, dtype=np.int64)[None, :] - lowest[:, None]
        stride = self.headers["value"][chosen].astype(np.int64)
        base = self.headers["address"][chosen].astype(np.uint64)
        result[chosen] = base[:, None] + (distance * stride[:, None]).view(np.uint64)

        chosen = np.flatnonzero(access & (form == AddressForm.LANES_32))
        tails = self._tails(raw, chosen, 0, _TAIL_BYTES[AddressForm.LANES_32]).view(_OFFSETS_32)
        base = self.headers["address"][chosen].astype(np.uint64)
        result[chosen] = base[:, None] + tails.astype(np.int64).view(np.uint64)

        chosen = np.flatnonzero(access & (form == AddressForm.LANES_64))
        result[chosen] = self._tails(raw, chosen, 0, _TAIL_BYTES[AddressForm.LANES_64]).view(_ADDRESSES_64)
        result[~(active & access[:, None])] = 0
        return result

    def sizes(self) -> npt.NDArray[np.uint8]:
        """Bytes each lane accesses, shape ``(n, 32)``; 0 for inactive lanes and other records."""
        access = self.headers["kind"] == RecordKind.ACCESS
        result = np.repeat(self.headers["size"][:, None], WARP_LANES, axis=1)
        raw = np.frombuffer(self.data, np.uint8)
        own = access & (self.headers["flags"] & RecordFlag.LANE_SIZES != 0)
        for form, skip in _TAIL_BYTES.items():
            chosen = np.flatnonzero(own & (self.headers["form"] == form))
            result[chosen] = self._tails(raw, chosen, skip, WARP_LANES)
        result[~(self._active() & access[:, None])] = 0
        return result

    def __getitem__(self, index: int) -> Record:
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        head = self.headers[index]
        begin = int(self.offsets[index])
        kind = RecordKind(int(head["kind"]))
        addresses: dict[int, int] = {}
        sizes: dict[int, int] = {}
        if kind is RecordKind.ACCESS:
            one = Batch(self.data[begin : begin + int(head["length"]) * RECORD_UNIT])
            lanes = [lane for lane in range(WARP_LANES) if int(head["active"]) >> lane & 1]
            lane_addresses, lane_sizes = one.addresses()[0], one.sizes()[0]
            addresses = {lane: int(lane_addresses[lane]) for lane in lanes}
            sizes = {lane: int(lane_sizes[lane]) for lane in lanes}
        return Record(
            kind=kind,
            launch=int(head["launch"]),
            block=int(head["block"]),
            warp=int(head["warp"]),
            pc=int(head["pc"]),
            active=int(head["active"]),
            space=Space(int(head["space"])),
            type=AccessType(int(head["type"])),
            size=int(head["size"]),
            flags=RecordFlag(int(head["flags"])),
            form=AddressForm(int(head["form"])),
            address=int(head["address"]),
            value=int(head["value"]),
            addresses=addresses,
            sizes=sizes,
        )

    def _active(self) -> npt.NDArray[np.bool_]:
        lanes = np.arange(WARP_LANES, dtype=np.uint32)
        bits: npt.NDArray[np.bool_] = (self.headers["active"][:, None] >> lanes & 1).astype(bool)
        return bits

    def _tails(
        self, raw: npt.NDArray[np.uint8], chosen: npt.NDArray[np.intp], skip: int, length: int
    ) -> npt.NDArray[np.uint8]:
        places = self.offsets[chosen][:, None] + (HEADER.itemsize + skip) + np.arange(length)
        return np.ascontiguousarray(raw[places])


def _offsets(data: bytes) -> npt.NDArray[np.int64]:
    if len(data) % HEADER.itemsize == 0:
        lengths = np.frombuffer(data, np.uint8)[:: HEADER.itemsize]
        if bool((lengths * RECORD_UNIT == HEADER.itemsize).all()):
            return np.arange(0, len(data), HEADER.itemsize, dtype=np.int64)
    offsets = []
    at = 0
    while at < len(data):
        length = data[at] * RECORD_UNIT
        if length < HEADER.itemsize or at + length > len(data):
            raise InvalidError(f"the bytes at {at} are not a whole record")
        if length != _expected_length(data[at : at + HEADER.itemsize]):
            raise InvalidError(f"the record at byte {at} has the wrong length")
        offsets.append(at)
        at += length
    return np.array(offsets, np.int64)


def _expected_length(head: bytes) -> int:
    if head[1] != RecordKind.ACCESS:
        return HEADER.itemsize
    sizes = WARP_LANES if head[3] & RecordFlag.LANE_SIZES else 0
    return HEADER.itemsize + _TAIL_BYTES.get(AddressForm(head[2]), 0) + sizes
