"""Softmax in Triton, one program a row: compiled when it runs, so its module reaches the driver only then.

Usage: ``python triton_softmax.py [rows [columns]]``.
"""

from __future__ import annotations

import sys

import torch
import triton
import triton.language as tl


# Triton reads annotations as types of its own, so the plain parameters have none.
@triton.jit  # type: ignore[untyped-decorator]
def softmax_kernel(output, source, columns, width: tl.constexpr):  # type: ignore[no-untyped-def]
    """Softmax of the row that is this program's; ``width`` is the next power of two of ``columns``."""
    row = tl.program_id(0)
    place = tl.arange(0, width)
    inside = place < columns
    values = tl.load(source + row * columns + place, mask=inside, other=-float("inf"))
    exponentials = tl.exp(values - tl.max(values, axis=0))
    tl.store(output + row * columns + place, exponentials / tl.sum(exponentials, axis=0), mask=inside)


def main(rows: int = 32, columns: int = 781) -> int:
    """Compare with PyTorch's softmax; the exit status is 1 when they differ."""
    source = ((torch.arange(rows * columns) * 7919 % 1009).float() / 100).reshape(rows, columns)
    device_source = source.cuda()
    output = torch.empty_like(device_source)
    softmax_kernel[(rows,)](output, device_source, columns, triton.next_power_of_2(columns))
    good = torch.allclose(output.cpu(), source.softmax(dim=-1), rtol=1e-4, atol=1e-6)
    print("ok" if good else "the results differ")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:])))
