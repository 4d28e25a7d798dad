"""Many records at once, as numpy arrays of headers: for cases that need millions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cuvein.vocabulary import AddressForm, RecordKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["HEADER", "accesses", "headers", "with_offsets"]

# One header, which is the whole record where the form is affine.
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


def headers(count: int, kind: RecordKind, **fields: Any) -> NDArray[Any]:
    """Make ``count`` records of one kind; each field is a number for all or an array."""
    made = np.zeros(count, HEADER)
    made["length"] = HEADER.itemsize // 16
    made["kind"] = kind
    made["launch"] = 1
    made["active"] = 0xFFFFFFFF
    for name, value in fields.items():
        made[name] = value
    return made


def accesses(count: int, stride: int | NDArray[Any] = 0, **fields: Any) -> NDArray[Any]:
    """Make ``count`` affine accesses; ``stride`` is the distance between neighbouring lanes in bytes."""
    return headers(count, RecordKind.ACCESS, value=stride, **fields)


def with_offsets(made: NDArray[Any], offsets: list[int]) -> NDArray[Any]:
    """Give the lanes of accesses these distances from the lowest active lane's address, in bytes."""
    longer = np.zeros(len(made), [("header", HEADER), ("offsets", "<i4", 32)])
    longer["header"] = made
    longer["header"]["length"] = longer.itemsize // 16
    longer["header"]["form"] = AddressForm.LANES_32
    longer["header"]["value"] = 0
    longer["offsets"][:, : len(offsets)] = offsets
    return longer
