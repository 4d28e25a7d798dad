"""Graphs of the kernels in staging.cu: asynchronous copies and matrices.

A copy is two nodes, the read of global memory and the write of shared memory.
"""

from __future__ import annotations

from math import gcd

from micro.graph import Edge, Graph, benchmark, far, near

# n threads in blocks of 128, in warps of 32.


def copied(blocks: int, size: int, unordered: int) -> Graph:
    n = 128 * blocks
    read = Edge("block", n, "copy", unordered=unordered)
    return [
        far("copy", "read", n // 32, Edge("cold", n), size=size, asynchronous=True),
        near("copy", "write", n // 32, Edge("cold", n), size=size, asynchronous=True),
        near("move", "read", n // 32, read, size=size),
        far("move", "write", n // 32, Edge("cold", n), size=size),
    ]


@benchmark("staging", (8,))
def copy4(blocks: int) -> Graph:
    return copied(blocks, 4, 0)


@benchmark("staging", (8,))
def copy8(blocks: int) -> Graph:
    return copied(blocks, 8, 0)


@benchmark("staging", (8,))
def copy16(blocks: int) -> Graph:
    return copied(blocks, 16, 0)


@benchmark("staging", (8,))
def copy_unwaited(blocks: int) -> Graph:
    """The barrier is there, the wait is not: nothing that is read is sure to have arrived."""
    return copied(blocks, 16, 16 * 128 * blocks)


@benchmark("staging", (8, 8, 0), (8, 16, 4), (8, 0, 12))
def copy_filled(blocks: int, whole: int, part: int) -> Graph:
    """What is read is what lanes bring; what is written is 16 bytes each.

    Two lanes share a sector, and all lanes or the first ones take part.
    """
    lanes = 32 if part else whole
    brought = 16 * whole + part * (32 - whole)
    n = 32 * blocks
    cold = Edge("cold", lanes * blocks, bytes=brought * blocks)
    return [
        far("copy", "read", blocks, cold, size=16, lanes=lanes, sectors=lanes // 2, asynchronous=True),
        near("copy", "write", blocks, Edge("cold", n), size=16, asynchronous=True),
        near("move", "read", blocks, Edge("warp_diff_inst", n, "copy", unordered=0), size=16),
        far("move", "write", blocks, Edge("cold", n), size=16),
    ]


@benchmark("staging", (4, 5))
def double_buffer(blocks: int, tiles: int) -> Graph:
    """Both buffers are new once; then each slot is copied over what the warp beside has read."""
    n = 128 * blocks
    times = n // 32
    overwritten = Edge("block", n * (tiles - 2), "move", unordered=0)
    reads = (
        Edge("block", n, "copy_first", unordered=0),
        Edge("block", n * (tiles - 1), "copy_next", unordered=0),
    )
    later = times * (tiles - 1)
    return [
        far("copy_first", "read", times, Edge("cold", n), size=16, asynchronous=True),
        near("copy_first", "write", times, Edge("cold", n), size=16, asynchronous=True),
        far("copy_next", "read", later, Edge("cold", n * (tiles - 1)), size=16, asynchronous=True),
        near("copy_next", "write", later, Edge("cold", n), overwritten, size=16, asynchronous=True),
        near("move", "read", times * tiles, *reads, size=16),
        far("move", "write", times * tiles, Edge("cold", n * tiles), size=16),
    ]


def matrix(blocks: int, pitch: int, matrices: int) -> Graph:
    """Rows of 16 bytes, 8 a matrix and a group: gcd(pitch, 8) of them in the same four banks."""
    together = gcd(pitch, 8)
    lanes = 8 * matrices
    return [
        near("write", "write", blocks, Edge("cold", 32 * blocks), size=16, wavefronts=4 * together),
        near(
            "matrix",
            "read",
            blocks,
            Edge("warp_diff_inst", lanes * blocks, "write", unordered=0),
            size=16,
            lanes=lanes,
            words=4 * lanes,
            wavefronts=matrices * together,
            ideal=matrices,
        ),
        far("store", "write", blocks, Edge("cold", 32 * blocks)),
    ]


@benchmark("staging", (8, 1))
def load_matrix1(blocks: int, pitch: int) -> Graph:
    return matrix(blocks, pitch, 1)


@benchmark("staging", (8, 2))
def load_matrix2(blocks: int, pitch: int) -> Graph:
    return matrix(blocks, pitch, 2)


@benchmark("staging", (8, 1), (8, 8), (8, 9))
def load_matrix4(blocks: int, pitch: int) -> Graph:
    return matrix(blocks, pitch, 4)
