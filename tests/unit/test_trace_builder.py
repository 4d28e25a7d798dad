"""The record builder against the tests' own reading of the record layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cuvein.trace.builder import Recorder
from cuvein.vocabulary import AccessType, AddressForm, Instruction, RecordFlag, RecordKind, Space
from reference.records import decode
from reference.streams import Warp

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference.records import Record

BY = {"block": 2**40, "warp": 31}
WARP = Warp(**BY, launch=9)
A = 0x7F00_0000_0000


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            lambda r: r.barrier(8, index=3, expected=64, arrive_only=True, **BY),
            WARP.barrier(8, 3, 64, wait=False),
        ),
        (lambda r: r.warp_sync(8, mask=0xFF, active=0xF, **BY), WARP.sync(8, 0xFF, 0xF)),
        (lambda r: r.thread_exit(active=6, **BY), WARP.exit(6)),
        (lambda r: r.launch_end(**BY), None),
        (lambda r: r.async_commit(8, **BY), WARP.other(RecordKind.ASYNC_COMMIT, 8)),
        (lambda r: r.async_wait(8, pending=2, **BY), WARP.other(RecordKind.ASYNC_WAIT, 8, address=2)),
        (lambda r: r.cluster_arrive(8, **BY), WARP.other(RecordKind.CLUSTER_ARRIVE, 8)),
        (lambda r: r.cluster_wait(8, **BY), WARP.other(RecordKind.CLUSTER_WAIT, 8)),
        (lambda r: r.device_malloc(0, A, 2**40, lane=5, **BY), WARP.malloc(A, 2**40, 5)),
        (lambda r: r.device_free(0, A, lane=5, **BY), WARP.free(A, 5)),
        (lambda r: r.not_analysed(8, Instruction.WGMMA, **BY), WARP.not_analysed(8, Instruction.WGMMA)),
    ],
)
def test_other_records(build: Callable[[Recorder], None], expected: Record | None) -> None:
    recorder = Recorder(9)
    build(recorder)
    (found,) = decode(recorder.data)
    if expected is None:
        assert found.kind == RecordKind.LAUNCH_END
        assert found.launch == 9
    else:
        assert found == expected


@pytest.mark.parametrize("form", [None, AddressForm.LANES_32, AddressForm.LANES_64])
def test_accesses(form: AddressForm | None) -> None:
    recorder = Recorder(9)
    starts = {3: A, 5: A - 16, 31: A + 64}
    sizes = {3: 16, 5: 5, 31: 1}
    recorder.access(-16, starts, sizes, flags=RecordFlag.ASYNC, form=form, **BY)
    recorder.access(17, starts, 8, Space.SHARED, AccessType.WRITE, form=form, **BY)
    first, second = decode(recorder.data)
    by_lane = [sizes.get(lane, 0) for lane in range(32)]
    assert first == WARP.read(-16, starts, by_lane, flags=RecordFlag.ASYNC)
    assert second == WARP.write(17, starts, 8, space=Space.SHARED)


def test_affine_accesses() -> None:
    recorder = Recorder(9)
    recorder.affine(16, A, stride=-8, size=8, active=0x8421, type=AccessType.ATOMIC, **BY)
    (found,) = decode(recorder.data)
    assert found == WARP.atomic(16, {lane: A - 8 * lane for lane in (0, 5, 10, 15)}, 8)
