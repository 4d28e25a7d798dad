"""Layer norm of each row, without weights; what both variants of the kernel need."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS = 4096
EPSILON = 1e-5


def main(launch: Callable[[torch.Tensor, torch.Tensor], None]) -> int:
    """Run ``launch(output, source)`` and compare with PyTorch; the status is 1 when they differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="?", type=int, default=8192, help="of 4096 floats")
    parser.add_argument("--repeat", type=int, default=1, help="run the kernel so often")
    options = parser.parse_args()
    count = options.rows * COLUMNS
    source = ((torch.arange(count) * 7919 % 1009).float() / 100).reshape(options.rows, COLUMNS)
    on_device = source.cuda()
    output = torch.empty_like(on_device)
    for _ in range(options.repeat):
        launch(output, on_device)
    expected = torch.nn.functional.layer_norm(source, (COLUMNS,), eps=EPSILON)
    good = torch.allclose(output.cpu(), expected, rtol=1e-4, atol=1e-5)
    print("ok" if good else "the results differ")
    return 0 if good else 1
