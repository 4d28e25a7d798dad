"""Small runs for tests: a kernel with a conflict or a race, and a folder of launch profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvein.profile import encode
from unit.profiles.maker import Maker

if TYPE_CHECKING:
    from pathlib import Path


def kernel(name="transpose(float *)", *, conflicted=True, racy=False, repeats=1):
    maker = Maker(name)
    maker.node(executions=16 * repeats)
    maker.node("write", "shared")
    maker.node("read", "shared", wavefronts=32 if conflicted else 1)
    maker.edge(2, 1, "block", None, 64 if racy else 0)
    return maker


def write(folder: Path, *makers: Maker, start=1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number, maker in enumerate(makers, start):
        (folder / f"launch-{number:06}.json").write_bytes(encode(maker.profile(number)))
    return folder
