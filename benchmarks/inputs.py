"""Input files for the programs of ``programs.py``: random, of a given size, always the same.

Each function writes into the folder where the program runs, in the formats that the programs' sources read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import numpy.typing as npt

SEED = 7


def _lines(path: Path, rows: Iterable[str]) -> None:
    path.write_text("\n".join(rows) + "\n")


def graph(nodes: int) -> Callable[[Path], None]:
    """``graph.txt``: 2 to 9 random edges a node; first edge and degree of each node, then the edges."""

    def write(folder: Path) -> None:
        random = np.random.default_rng(SEED)
        degrees = random.integers(2, 10, nodes)
        starts = np.concatenate([[0], np.cumsum(degrees)])
        targets = random.integers(0, nodes, starts[-1])
        _lines(
            folder / "graph.txt",
            [
                str(nodes),
                *(
                    f"{start} {degree}"
                    for start, degree in zip(starts.tolist(), degrees.tolist(), strict=False)
                ),
                "",
                "0",
                "",
                str(len(targets)),
                *(f"{target} 1" for target in targets.tolist()),
            ],
        )

    return write


def floats(count: int, *names: str) -> Callable[[Path], None]:
    """Files ``names`` of ``count`` numbers from 300 to 340, one a line."""

    def write(folder: Path) -> None:
        random = np.random.default_rng(SEED)
        for name in names:
            _lines(folder / name, (f"{value:.4f}" for value in random.uniform(300, 340, count).tolist()))

    return write


def image(width: int, height: int) -> Callable[[Path], None]:
    """``image.pgm``: grey values of 8 bits as text."""

    def write(folder: Path) -> None:
        pixels = np.random.default_rng(SEED).integers(1, 256, (height, width))
        rows = (" ".join(map(str, row)) for row in pixels.tolist())
        _lines(folder / "image.pgm", ["P2", "# random", f"{width} {height}", "255", *rows])

    return write


def random_bytes(count: int, name: str) -> Callable[[Path], None]:
    """``name``: bytes that are not equally frequent, so that they can be compressed."""

    def write(folder: Path) -> None:
        values = np.random.default_rng(SEED).binomial(255, 0.3, count)
        (folder / name).write_bytes(values.astype(np.uint8).tobytes())

    return write


def records(count: int) -> Callable[[Path], None]:
    """``list.txt`` naming ``places.txt``: lines of 48 characters, latitude and longitude from the 29th on."""

    def write(folder: Path) -> None:
        random = np.random.default_rng(SEED)
        places = zip(
            random.uniform(7, 63, count).tolist(), random.uniform(10, 99, count).tolist(), strict=True
        )
        _lines(folder / "places.txt", (f"{'place':28}{x:5.1f}{y:5.1f}{'':10}" for x, y in places))
        _lines(folder / "list.txt", ["places.txt"])

    return write


def keys(count: int, queries: int) -> Callable[[Path], None]:
    """``keys.txt``: shuffled numbers; ``commands.txt``: ranges and points to look up."""

    def write(folder: Path) -> None:
        shuffled = np.random.default_rng(SEED).permutation(count) + 1
        _lines(folder / "keys.txt", map(str, [count, *shuffled.tolist()]))
        _lines(folder / "commands.txt", [f"j {queries} {queries // 2}", f"k {queries}"])

    return write


def gpt2(
    *, layers: int, heads: int, channels: int, vocabulary: int, length: int, steps: int
) -> Callable[[Path], None]:
    """``gpt2_124M.bin``, a model with random weights, and ``tokens.bin``, ``steps`` batches of 4."""

    def write(folder: Path) -> None:
        random = np.random.default_rng(SEED)
        padded = -(-vocabulary // 128) * 128
        header = np.zeros(256, np.int32)
        header[:8] = [20240326, 3, length, vocabulary, layers, heads, channels, padded]
        c = channels
        shapes: list[tuple[int, ...]] = [(padded, c), (length, c)]
        of_layers = [
            (c,),
            (c,),
            (3 * c, c),
            (3 * c,),
            (c, c),
            (c,),
            (c,),
            (c,),
            (4 * c, c),
            (4 * c,),
            (c, 4 * c),
            (c,),
        ]
        shapes += [(layers, *shape) for shape in of_layers]
        shapes += [(c,), (c,)]
        weights: list[npt.NDArray[np.float32]] = [
            random.normal(0, 0.02, shape).astype(np.float32).ravel() for shape in shapes
        ]
        with (folder / "gpt2_124M.bin").open("wb") as file:
            file.write(header.tobytes())
            for weight in weights:
                file.write(weight.tobytes())
        tokens = random.integers(0, vocabulary, 4 * length * steps + 1)
        header = np.zeros(256, np.int32)
        header[:3] = [20240520, 1, len(tokens)]
        (folder / "tokens.bin").write_bytes(header.tobytes() + tokens.astype(np.uint16).tobytes())

    return write
