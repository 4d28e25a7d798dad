"""A tiny CUDA program of known behaviour, for the self-test: ``python -m cuvein.collect.kernel``.

Two warps of one block. Each thread reads its own word of an array (``cold``), writes it incremented
(``thread``), waits for the block, reads the word of the thread 32 further or back (``block``), and writes
that to a second array (``cold``).
"""

from __future__ import annotations

import ctypes
import sys

from cuvein.collect.driver import DriverError, load

__all__ = ["EXPECTED", "NAME", "run"]

NAME = "cuvein_self_test"
THREADS = 64
WORD = 4
EXPECTED = {"cold": 2 * THREADS * WORD, "thread": THREADS * WORD, "block": THREADS * WORD}
"""Bytes of global memory by label."""

PTX = f"""
.version 7.0
.target sm_75
.address_size 64

.visible .entry {NAME}(.param .u64 array)
{{
  .reg .u32 %thread, %other, %value;
  .reg .u64 %base, %offset, %own, %far;
  ld.param.u64 %base, [array];
  cvta.to.global.u64 %base, %base;
  mov.u32 %thread, %tid.x;
  mul.wide.u32 %offset, %thread, {WORD};
  add.u64 %own, %base, %offset;
  ld.volatile.global.u32 %value, [%own];
  add.u32 %value, %value, 1;
  st.volatile.global.u32 [%own], %value;
  bar.sync 0;
  xor.b32 %other, %thread, 32;
  mul.wide.u32 %offset, %other, {WORD};
  add.u64 %far, %base, %offset;
  ld.volatile.global.u32 %value, [%far];
  st.volatile.global.u32 [%own+{THREADS * WORD}], %value;
  ret;
}}
"""


def run() -> None:
    """Launch the kernel and check what it computed.

    Raises
    ------
    DriverError
        The driver refuses, or the result is wrong.
    """
    driver = load()
    device, context = ctypes.c_int(), ctypes.c_void_p()
    module, function, array = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    driver.check("cuInit", 0)
    driver.check("cuDeviceGet", ctypes.byref(device), 0)
    driver.check("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    driver.check("cuCtxSetCurrent", context)
    driver.check("cuModuleLoadData", ctypes.byref(module), PTX.encode())
    driver.check("cuModuleGetFunction", ctypes.byref(function), module, NAME.encode())
    words = (ctypes.c_uint32 * (2 * THREADS))(*range(2 * THREADS))
    size = ctypes.c_size_t(ctypes.sizeof(words))
    driver.check("cuMemAlloc_v2", ctypes.byref(array), size)
    driver.check("cuMemcpyHtoD_v2", array, words, size)
    arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(array), ctypes.c_void_p))
    driver.check("cuLaunchKernel", function, 1, 1, 1, THREADS, 1, 1, 0, None, arguments, None)
    driver.check("cuCtxSynchronize")
    driver.check("cuMemcpyDtoH_v2", words, array, size)
    if list(words[THREADS:]) != [(thread ^ 32) + 1 for thread in range(THREADS)]:
        raise DriverError("the kernel of the self-test computed a wrong result")
    driver.check("cuMemFree_v2", array)
    driver.check("cuDevicePrimaryCtxRelease_v2", device)


if __name__ == "__main__":
    try:
        run()
    except DriverError as error:
        sys.exit(str(error))
