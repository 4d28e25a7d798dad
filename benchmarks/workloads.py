"""The operators that ``operators.py`` runs, by name. Needs PyTorch and Triton."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import triton
import triton.language as tl
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable

    Operator = Callable[[int], object]

__all__ = ["OPERATORS"]


def values(*shape: int) -> torch.Tensor:
    """Multiples of 1/8 between -2 and 2, made on the CPU, so that no kernel takes part."""
    count = int(torch.tensor(shape).prod())
    return ((torch.arange(count) * 7919 % 33 - 16).float() / 8).reshape(shape).cuda()


def indices(count: int, below: int) -> torch.Tensor:
    return (torch.arange(count) * 7919 % below).cuda()


@triton.jit
def add_kernel(output, left, right, count, width: tl.constexpr):
    """One addition a place."""
    place = tl.program_id(0) * width + tl.arange(0, width)
    inside = place < count
    tl.store(output + place, tl.load(left + place, inside) + tl.load(right + place, inside), inside)


@triton.jit
def softmax_kernel(output, source, columns, width: tl.constexpr):
    """Softmax of the row that is this program's."""
    row = tl.program_id(0)
    place = tl.arange(0, width)
    inside = place < columns
    loaded = tl.load(source + row * columns + place, mask=inside, other=-float("inf"))
    exponentials = tl.exp(loaded - tl.max(loaded, axis=0))
    tl.store(output + row * columns + place, exponentials / tl.sum(exponentials, axis=0), mask=inside)


@triton.jit
def layer_norm_kernel(output, source, weight, columns, width: tl.constexpr):
    """Rows minus their mean over their deviation."""
    row = tl.program_id(0)
    place = tl.arange(0, width)
    inside = place < columns
    loaded = tl.load(source + row * columns + place, mask=inside, other=0.0)
    mean = tl.sum(loaded, axis=0) / columns
    centred = tl.where(inside, loaded - mean, 0.0)
    deviation = tl.sqrt(tl.sum(centred * centred, axis=0) / columns + 1e-5)
    tl.store(output + row * columns + place, centred / deviation * tl.load(weight + place, inside), inside)


@triton.jit
def transpose_kernel(output, source, size, tile: tl.constexpr):
    """Tiles through shared memory, which the compiler places."""
    rows = tl.program_id(0) * tile + tl.arange(0, tile)
    columns = tl.program_id(1) * tile + tl.arange(0, tile)
    loaded = tl.load(source + rows[:, None] * size + columns[None, :])
    tl.store(output + columns[:, None] * size + rows[None, :], tl.trans(loaded))


@triton.jit
def count_kernel(output, source, width: tl.constexpr):
    """Histogram by atomics in global memory."""
    place = tl.program_id(0) * width + tl.arange(0, width)
    tl.atomic_add(output + tl.load(source + place), 1)


@triton.jit
def matmul_kernel(output, left, right, size, tile: tl.constexpr):
    """Product of square matrices of floats, in full precision: no tensor cores."""
    rows = tl.program_id(0) * tile + tl.arange(0, tile)
    columns = tl.program_id(1) * tile + tl.arange(0, tile)
    inner = tl.arange(0, tile)
    total = tl.zeros((tile, tile), tl.float32)
    for start in range(0, size, tile):
        a = tl.load(left + rows[:, None] * size + start + inner[None, :])
        b = tl.load(right + (start + inner[:, None]) * size + columns[None, :])
        total += tl.dot(a, b, input_precision="ieee")
    tl.store(output + rows[:, None] * size + columns[None, :], total)


def _triton_rows(kernel: Any, rows: int, *more: torch.Tensor) -> torch.Tensor:
    source = values(rows, 1000)
    output = torch.empty_like(source)
    kernel[(rows,)](output, source, *more, 1000, 1024)
    return output


def triton_add(rows: int) -> object:
    source = values(rows, 1000)
    output = torch.empty_like(source)
    add_kernel[(triton.cdiv(source.numel(), 1024),)](output, source, source, source.numel(), 1024)
    return output


def triton_transpose(rows: int) -> object:
    source = values(rows, rows)
    output = torch.empty_like(source)
    transpose_kernel[(rows // 32, rows // 32)](output, source, rows, 32)
    return output


def triton_count(rows: int) -> object:
    output = torch.zeros(1024, dtype=torch.int32, device="cuda")
    count_kernel[(rows,)](output, indices(rows * 1024, 1024), 1024)
    return output


def triton_matmul(rows: int) -> object:
    source = values(rows, rows)
    output = torch.empty_like(source)
    matmul_kernel[(rows // 32, rows // 32)](output, source, source, rows, 32)
    return output


def attention(rows: int) -> object:
    q = values(2, 4, rows, 64)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return functional.scaled_dot_product_attention(q, q, q)


OPERATORS: dict[str, Operator] = {
    "softmax": lambda n: functional.softmax(values(n, 1000), dim=-1),
    "log_softmax_wide": lambda n: functional.log_softmax(values(n // 8, 20_000), dim=-1),
    "layer_norm": lambda n: functional.layer_norm(values(n, 768), (768,)),
    "batch_norm": lambda n: functional.batch_norm(values(n, 16, 8, 8), None, None, training=True),
    "cross_entropy": lambda n: functional.cross_entropy(values(n, 1000), indices(n, 1000)),
    "gelu": lambda n: functional.gelu(values(n, 1000)),
    "max_pool": lambda n: functional.max_pool2d(values(8, 16, n // 4, n // 4), 3, 2),
    "sum": lambda n: values(n, 1000).sum(),
    "sum_columns": lambda n: values(n, 1000).sum(dim=0),
    "argmax": lambda n: values(n, 1000).argmax(dim=-1),
    "cumsum": lambda n: values(n, 2000).cumsum(dim=-1),
    "histc": lambda n: torch.histc(values(n, 1000), bins=64),
    "sort": lambda n: values(n, 1000).sort(dim=-1),
    "topk": lambda n: values(n, 1000).topk(10, dim=-1),
    "transpose": lambda n: values(n, 1000).t().contiguous(),
    "permute": lambda n: values(8, n, 64).permute(1, 2, 0).contiguous(),
    "embedding": lambda n: functional.embedding(indices(n * 8, 1000), values(1000, 64)),
    "gather": lambda n: values(n, 1000).gather(1, indices(n * 100, 1000).reshape(n, 100)),
    "index_add": lambda n: values(100, 64).index_add_(0, indices(n, 100), values(n, 64)),
    "scatter_add": lambda n: values(1000).scatter_add_(0, indices(n * 64, 1000), values(n * 64)),
    "matmul": lambda n: values(n, 128) @ values(128, n),
    "attention": attention,
    "triton_add": triton_add,
    "triton_softmax": lambda n: _triton_rows(softmax_kernel, n),
    "triton_layer_norm": lambda n: _triton_rows(layer_norm_kernel, n, values(1000)),
    "triton_transpose": triton_transpose,
    "triton_count": triton_count,
    "triton_matmul": triton_matmul,
}
