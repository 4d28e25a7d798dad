"""Graphs of the kernels in banks.cu: conflicts in shared memory.

Elements of more than 4 bytes are served in groups of lanes that together ask for 32 words: 16 lanes of 8
bytes, 8 of 16. Where lanes are ``step`` elements apart, gcd(step, lanes of a group) of them meet in a bank.
"""

from __future__ import annotations

from math import gcd

from micro.graph import Edge, Graph, Node, benchmark, far, near

TILE = 32


def strided(blocks: int, step: int, size: int) -> Graph:
    """A warp a block, each lane reads what the lane beside wrote."""
    if size >= 4:
        group = 128 // size
        words, wavefronts, ideal = 8 * size, 32 // group * gcd(step, group), 32 // group
    else:
        # Narrower than a word: up to 4 bytes apart, all words are touched in a row; then one word a lane.
        apart = size * step
        words, wavefronts, ideal = min(32, 8 * apart), gcd(max(1, apart // 4), 32), 1

    def access(line: str, kind: str, edge: Edge) -> Node:
        return near(line, kind, blocks, edge, size=size, words=words, wavefronts=wavefronts, ideal=ideal)

    lanes = 32 * blocks
    return [
        access("write", "write", Edge("cold", lanes)),
        access("move", "read", Edge("warp_diff_inst", lanes, "write", unordered=0)),
        far("move", "write", blocks, Edge("cold", lanes), size=size),
    ]


@benchmark("banks", (8, 1), (8, 4), (8, 8))
def stride1(blocks: int, step: int) -> Graph:
    return strided(blocks, step, 1)


@benchmark("banks", (8, 1), (8, 2), (8, 16))
def stride2(blocks: int, step: int) -> Graph:
    return strided(blocks, step, 2)


@benchmark("banks", (8, 1), (8, 2), (8, 3), (8, 4), (8, 8), (8, 16), (8, 32), (8, 33))
def stride4(blocks: int, step: int) -> Graph:
    return strided(blocks, step, 4)


@benchmark("banks", (8, 1), (8, 2), (8, 4), (8, 8), (8, 16), (8, 17))
def stride8(blocks: int, step: int) -> Graph:
    return strided(blocks, step, 8)


@benchmark("banks", (8, 1), (8, 2), (8, 4), (8, 8), (8, 9))
def stride16(blocks: int, step: int) -> Graph:
    return strided(blocks, step, 16)


def columns(blocks: int, size: int, degree: int) -> Graph:
    """A tile written by rows and read by columns, ``degree`` lanes of a group in a bank.

    Row r was written by warp r % 8, and column c is read by warp c % 8. Of the 32 rows lane r = c finds what
    it wrote itself, the 3 others with r % 8 = c % 8 what another lane of its warp wrote.
    """
    times = TILE * blocks
    reads = (
        Edge("thread", times, "row"),
        Edge("warp_diff_inst", 3 * times, "row", unordered=0),
        Edge("block", 28 * times, "row", unordered=0),
    )
    return [
        near("row", "write", times, Edge("cold", 32 * times), size=size),
        near("column", "read", times, *reads, size=size, wavefronts=size // 4 * degree),
        far("sum", "write", 8 * blocks, Edge("cold", 256 * blocks), size=size),
    ]


@benchmark("banks", (4, 0), (4, 1), (4, 2), (4, 4), (4, 16), (4, 32))
def column4(blocks: int, padding: int) -> Graph:
    return columns(blocks, 4, gcd(TILE + padding, 32))


@benchmark("banks", (4, 0), (4, 1), (4, 16))
def column8(blocks: int, padding: int) -> Graph:
    return columns(blocks, 8, gcd(TILE + padding, 16))


@benchmark("banks", (4,))
def swizzle(blocks: int) -> Graph:
    """Bank c XOR lane: another one for each lane. Who wrote what is as with the columns above."""
    return columns(blocks, 4, 1)


@benchmark("banks", (8, 2), (8, 4), (8, 32))
def shared_multicast(blocks: int, share: int) -> Graph:
    """Of the lanes of a word only the lowest meets its writer, which is lane 0 itself for word 0."""
    words = 32 // share
    reads = (
        Edge("thread", blocks, "write"),
        Edge("warp_diff_inst", (words - 1) * blocks, "write", unordered=0),
        Edge("warp_same_inst", (32 - words) * blocks, "read"),
    )
    return [
        near("write", "write", blocks, Edge("cold", 32 * blocks)),
        near("read", "read", blocks, *(edge for edge in reads if edge.lanes), words=words),
        far("store", "write", blocks, Edge("cold", 32 * blocks)),
    ]


@benchmark("banks", (8,))
def two_words(blocks: int) -> Graph:
    reads = (Edge("thread", 2 * blocks, "write"), Edge("warp_same_inst", 30 * blocks, "read"))
    return [
        near("write", "write", blocks, Edge("cold", 2 * blocks), lanes=2, words=2, wavefronts=2),
        near("read", "read", blocks, *reads, words=2, wavefronts=2),
        far("store", "write", blocks, Edge("cold", 32 * blocks)),
    ]
