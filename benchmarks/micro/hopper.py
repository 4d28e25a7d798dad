"""Graphs of the kernels in hopper.cu: what needs sm_90."""

from __future__ import annotations

from math import gcd

from micro.graph import Edge, Graph, benchmark, far, near


@benchmark("hopper", (8,))
def cluster(blocks: int) -> Graph:
    n = 128 * blocks
    return [
        far("write", "write", n // 32, Edge("cold", n)),
        far("read", "read", n // 32, Edge("cluster", n, "write")),
        far("store", "write", n // 32, Edge("cold", n)),
    ]


@benchmark("hopper", (8, 1), (8, 8))
def store_matrix(blocks: int, pitch: int) -> Graph:
    """Rows of 16 bytes in groups of 8: gcd(pitch, 8) of them in the same four banks."""
    n, wavefronts = 32 * blocks, 4 * gcd(pitch, 8)
    read = Edge("warp_diff_inst", n, "matrix", unordered=0)
    return [
        near("matrix", "write", blocks, Edge("cold", n), size=16, wavefronts=wavefronts),
        near("move", "read", blocks, read, size=16, wavefronts=wavefronts),
        far("move", "write", blocks, Edge("cold", n), size=16),
    ]


@benchmark("hopper", (8,))
def atomic_vector(blocks: int) -> Graph:
    n = 128 * blocks
    return [
        far("add", "atomic", n // 32, Edge("cold", n), size=16),
        far("add_again", "atomic", n // 32, Edge("warp_diff_inst", n, "add"), size=16),
    ]
