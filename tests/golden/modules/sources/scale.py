"""A Numba kernel that calls a device function."""

from numba import cuda


@cuda.jit(device=True)
def weight(x, i):
    return x[i] * 2.0


def scale(out, x, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = weight(x, i) + x[n - 1 - i]
