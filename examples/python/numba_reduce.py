"""Sum of an array in Numba: a tree in shared memory in each block, an atomic add at the end.

Usage: ``python numba_reduce.py [blocks]``.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numba import cuda, int64

THREADS = 128


@cuda.jit  # type: ignore[untyped-decorator]
def total_kernel(values: Any, total: Any) -> None:
    """Add up ``values``, one element a thread, into ``total[0]``."""
    tile = cuda.shared.array(THREADS, int64)
    thread = cuda.threadIdx.x
    tile[thread] = values[cuda.grid(1)]
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if thread < step:
            tile[thread] += tile[thread + step]
        cuda.syncthreads()
        step //= 2
    if thread == 0:
        cuda.atomic.add(total, 0, tile[0])


def main(blocks: int = 16) -> int:
    """Compare with NumPy; the exit status is 1 when they differ."""
    values = np.arange(blocks * THREADS, dtype=np.int64)
    total = cuda.to_device(np.zeros(1, dtype=np.int64))
    total_kernel[blocks, THREADS](cuda.to_device(values), total)
    good = int(total.copy_to_host()[0]) == int(values.sum())
    print("ok" if good else "the results differ")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:])))
