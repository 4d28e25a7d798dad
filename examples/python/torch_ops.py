"""PyTorch operators: softmax, layer_norm, matmul in half and single precision, cumsum, embedding.

Usage: ``python torch_ops.py [operator ...]`` (default: all). Each is checked against the CPU, a line each.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable


def softmax(device: str) -> torch.Tensor:
    """Softmax of 64 rows of 1000."""
    return functional.softmax(values(64, 1000, device=device), dim=-1)


def layer_norm(device: str) -> torch.Tensor:
    """Layer norm of 64 rows of 768."""
    return functional.layer_norm(values(64, 768, device=device), (768,))


def matmul_fp16(device: str) -> torch.Tensor:
    """Product of 128 x 128 matrices of halves; on the CPU in single precision."""
    left, right = values(128, 128, device=device), values(128, 128, device=device).T
    return (left.half() @ right.half()).float() if device == "cuda" else left @ right


def matmul_fp32(device: str) -> torch.Tensor:
    """Product of 128 x 128 matrices of floats."""
    return values(128, 128, device=device) @ values(128, 128, device=device).T


def cumsum(device: str) -> torch.Tensor:
    """Cumulative sums along 16 rows of 2000."""
    return values(16, 2000, device=device).cumsum(dim=-1)


def embedding(device: str) -> torch.Tensor:
    """Pick 512 rows from a table of 1000 x 64."""
    rows = (torch.arange(512) * 37 % 1000).to(device)
    return functional.embedding(rows, values(1000, 64, device=device))


OPERATORS: dict[str, Callable[[str], torch.Tensor]] = {
    operator.__name__: operator
    for operator in (softmax, layer_norm, matmul_fp16, matmul_fp32, cumsum, embedding)
}


def values(rows: int, columns: int, *, device: str) -> torch.Tensor:
    """Multiples of 1/8 between -2 and 2, the same on every device and exact in half precision."""
    numbers = torch.arange(rows * columns) * 7919 % 33 - 16
    return (numbers.float() / 8).reshape(rows, columns).to(device)


def main(names: list[str]) -> int:
    """Run the operators called ``names``; the exit status is 1 when a result is wrong."""
    unknown = sorted(set(names) - set(OPERATORS))
    if unknown:
        print(f"torch_ops.py knows {', '.join(OPERATORS)}, not {', '.join(unknown)}", file=sys.stderr)
        return 2
    wrong = 0
    for name in names or OPERATORS:
        found, expected = OPERATORS[name]("cuda").cpu(), OPERATORS[name]("cpu")
        good = torch.allclose(found, expected, rtol=1e-3, atol=1e-3)
        wrong += not good
        print(name, "ok" if good else f"differs by up to {(found - expected).abs().max().item():g}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
