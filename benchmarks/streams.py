"""Access streams for the benchmarks of the host engine, as numpy arrays of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cuvein.trace.records import HEADER
from cuvein.vocabulary import AccessType, AddressForm, RecordKind, Space

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "BASE",
    "WARPS_OF_A_BLOCK",
    "coalesced",
    "global_heavy",
    "scattered",
    "shared",
    "shared_heavy",
]

WARPS_OF_A_BLOCK = 8
BASE = 0x7F00_0000_0000

Headers = Any  # a structured array, or such a field of one
_WITH_OFFSETS = np.dtype([("head", HEADER), ("offsets", "<i4", 32)])


def fill(head: Headers, warps: npt.NDArray[np.int64], size: int) -> None:
    """Fill in what all accesses of a stream have in common; ``warps`` numbers them through the grid."""
    head["length"] = head.dtype.itemsize // 16
    head["kind"] = RecordKind.ACCESS
    head["size"] = size
    head["active"] = 0xFFFFFFFF
    head["launch"] = 1
    head["block"] = warps // WARPS_OF_A_BLOCK
    head["warp"] = warps % WARPS_OF_A_BLOCK


def coalesced(records: int, size: int) -> npt.NDArray[Any]:
    """Copy one array to another, twice: a read and a write a warp, lane after lane."""
    stream = np.zeros(records, HEADER)
    number = np.arange(records, dtype=np.int64)
    warps = number // 2 % (records // 4)
    fill(stream, warps, size)
    write, again = number % 2, number // (records // 2)
    stream["type"] = np.where(write, AccessType.WRITE, AccessType.READ)
    stream["pc"] = 16 * (1 + write + 2 * again)
    stream["address"] = BASE + write * (1 << 36) + warps * 32 * size
    stream["value"] = size
    return stream


def scattered(records: int, size: int, bytes_of_memory: int) -> npt.NDArray[Any]:
    """Gather from random places."""
    stream = np.zeros(records, _WITH_OFFSETS)
    head = stream["head"]
    fill(head, np.arange(records, dtype=np.int64), size)
    head["length"] = stream.dtype.itemsize // 16
    head["form"] = AddressForm.LANES_32
    head["pc"] = 16
    head["address"] = BASE
    choose = np.random.default_rng(1)
    stream["offsets"] = choose.integers(0, bytes_of_memory // size, (records, 32), dtype=np.int32) * size
    return stream


def shared(records: int) -> npt.NDArray[Any]:
    """Write shared memory, barrier, read the neighbour's with and without bank conflicts, barrier."""
    rounds = 16
    block: list[tuple[int, int, int, int, int, int]] = []
    for _ in range(rounds):
        block += [
            (RecordKind.ACCESS, AccessType.WRITE, 16, warp, warp * 128, 4) for warp in range(WARPS_OF_A_BLOCK)
        ]
        block += [(RecordKind.BLOCK_BARRIER, 0, 32, warp, 0, 0) for warp in range(WARPS_OF_A_BLOCK)]
        for warp in range(WARPS_OF_A_BLOCK):
            block.append((RecordKind.ACCESS, AccessType.READ, 48, warp, (warp + 1) % 8 * 128, 4))
            block.append((RecordKind.ACCESS, AccessType.READ, 64, warp, warp * 4, 32))
        block += [(RecordKind.BLOCK_BARRIER, 0, 80, warp, 0, 0) for warp in range(WARPS_OF_A_BLOCK)]
    block += [(RecordKind.THREAD_EXIT, 0, 0, warp, 0, 0) for warp in range(WARPS_OF_A_BLOCK)]
    blocks = max(1, records // len(block))
    stream = np.zeros(blocks * len(block), HEADER)
    fill(stream, np.zeros(len(stream), np.int64), 4)
    stream["space"] = Space.SHARED
    for column, name in enumerate(("kind", "type", "pc", "warp", "address", "value")):
        stream[name] = np.tile([row[column] for row in block], blocks)
    stream["block"] = np.arange(blocks).repeat(len(block))
    return stream


def global_heavy(records: int, bytes_of_table: int = 1 << 26) -> npt.NDArray[Any]:
    """Like a sparse product: of eight records six are of neighbouring lanes, one strided, one gathers.

    Each warp reads an index, a value of 4 and one of 16 bytes, where its row begins (the same for all lanes)
    and a word of every 128 bytes of an array, gathers from a table of ``bytes_of_table``, writes its result
    and adds to one of 1024 counters.
    """
    warps = np.arange(records // 8, dtype=np.int64)
    names = [f"head{number}" for number in range(7)]
    stream = np.zeros(len(warps), np.dtype([*((name, HEADER) for name in names), ("gather", _WITH_OFFSETS)]))
    regions = BASE + (np.arange(8, dtype=np.int64) << 34)
    for name, size, stride, address, kind in (
        ("head0", 4, 4, regions[0] + warps * 128, AccessType.READ),
        ("head1", 4, 4, regions[1] + warps * 128, AccessType.READ),
        ("head2", 16, 16, regions[2] + warps * 512, AccessType.READ),
        ("head3", 4, 0, regions[3] + warps * 4, AccessType.READ),
        ("head4", 4, 128, regions[4] + warps % (1 << 14) * 4096 + warps // (1 << 14) * 4, AccessType.READ),
        ("head5", 4, 4, regions[5] + warps * 128, AccessType.WRITE),
        ("head6", 4, 4, regions[6] + warps % 32 * 128, AccessType.ATOMIC),
    ):
        head = stream[name]
        fill(head, warps, size)
        head["pc"] = 16 * (1 + names.index(name))
        head["address"] = address
        head["value"] = stride
        head["type"] = kind
    head = stream["gather"]["head"]
    fill(head, warps, 4)
    head["length"] = _WITH_OFFSETS.itemsize // 16
    head["form"] = AddressForm.LANES_32
    head["pc"] = 16 * 8
    head["address"] = regions[7]
    choose = np.random.default_rng(1)
    places = choose.integers(0, bytes_of_table // 4, (len(warps), 32), dtype=np.int32)
    stream["gather"]["offsets"] = places * 4
    return stream


def shared_heavy(records: int, resident: int = 264) -> npt.NDArray[Any]:
    """Like a matrix product with tiles in shared memory, ``resident`` blocks at a time.

    A step of a block of 8 warps: each warp loads five rows of 128 bytes and stores them in shared memory,
    barrier, 32 times a word for all lanes and a row, barrier. The blocks take turns, four steps of the inner
    loop each.
    """
    tiles = 16
    # kind, type, space, stage (blocks take turns between them), address, stride, address by: 0 tile, 1 warp
    step: list[tuple[int, int, int, int, int, int]] = []
    for row in range(5):
        step.append((RecordKind.ACCESS, AccessType.READ, Space.GLOBAL, 0, row, 4))
        step.append((RecordKind.ACCESS, AccessType.WRITE, Space.SHARED, 0, row, 4))
    step.append((RecordKind.BLOCK_BARRIER, 0, 0, 0, 0, 0))
    for k in range(32):
        step.append((RecordKind.ACCESS, AccessType.READ, Space.SHARED, 1 + k // 4, 4 * k, 0))
        step.append((RecordKind.ACCESS, AccessType.READ, Space.SHARED, 1 + k // 4, 1024 + 128 * k, 4))
    step.append((RecordKind.BLOCK_BARRIER, 0, 0, 8, 0, 0))
    table = np.array(step, np.int64)
    shape = resident, WARPS_OF_A_BLOCK, len(step)
    order = np.argsort(np.broadcast_to(table[:, 3], shape).ravel(), kind="stable")
    blocks, warps, rows = np.unravel_index(order, shape)
    tile = np.zeros(len(order), HEADER)
    fill(tile, np.zeros(len(order), np.int64), 4)
    kind, kind_of_access, space, _, number, stride = table[rows].T
    tile["kind"], tile["type"], tile["space"], tile["value"] = kind, kind_of_access, space, stride
    tile["pc"] = 16 * (1 + rows)
    tile["block"], tile["warp"] = blocks, warps
    access = kind == RecordKind.ACCESS
    tile["size"] = np.where(access, 4, 0)
    loads = access & (space == Space.GLOBAL)
    stores = access & (space == Space.SHARED) & (kind_of_access == AccessType.WRITE)
    tile["address"] = np.where(stride == 0, warps * 128 + number, number)
    tile["address"][stores] = np.where(number == 0, warps * 128, 1024 + ((number - 1) * 8 + warps) * 128)[
        stores
    ]
    tile["address"][~access] = 0
    leave = np.zeros(resident * WARPS_OF_A_BLOCK, HEADER)
    fill(leave, np.arange(len(leave), dtype=np.int64), 0)
    leave["kind"] = RecordKind.THREAD_EXIT
    waves = max(1, records // (tiles * len(tile)))
    parts = []
    for wave in range(waves):
        for number_of_tile in range(tiles):
            part = tile.copy()
            # Blocks of one wave share the rows of one matrix; each has its own of the other.
            shared_row = np.where(number == 0, blocks + wave * resident, (1 << 20) + number * 8)
            at = BASE + ((shared_row * tiles + number_of_tile) * WARPS_OF_A_BLOCK + warps) * 128
            part["address"][loads] = at[loads]
            part["block"] += wave * resident
            parts.append(part)
        part = leave.copy()
        part["block"] += wave * resident
        parts.append(part)
    return np.concatenate(parts)
