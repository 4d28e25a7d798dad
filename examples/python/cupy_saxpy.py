"""``y = a x + y`` in CuPy, from CUDA C++ source that NVRTC compiles and the driver API loads.

Usage: ``python cupy_saxpy.py [size]``. Expected for size n (a multiple of 32): both reads cold, 4 n bytes
each; the write finds what the same thread read, thread 4 n bytes.
"""

from __future__ import annotations

import sys

import cupy
import numpy as np

SOURCE = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) y[i] = a * x[i] + y[i];
}
"""


def main(size: int = 4096) -> int:
    """Compare with NumPy; the exit status is 1 when they differ."""
    saxpy = cupy.RawKernel(SOURCE, "saxpy", options=("-lineinfo",))
    x = np.arange(size, dtype=np.float32) % 100
    y = np.arange(size, dtype=np.float32) % 7
    device_y = cupy.asarray(y)
    saxpy(((size + 255) // 256,), (256,), (np.float32(2), cupy.asarray(x), device_y, np.int32(size)))
    good = bool((cupy.asnumpy(device_y) == 2 * x + y).all())
    print("ok" if good else "the results differ")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:])))
