"""Constant weights that are quantised, in the one form in which fusion looks for them.

``dequantize`` has a scale for each place of one axis. Blocks are rows of their own for it:

    reshape(dequantize([N * blocks, block], [N * blocks]), [N, K])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tvm import relax

from tvm_megcc.relax_tools.int8_rows import allowing

from .context import Context
from .stored import held

Array = npt.NDArray[Any]


def dequantised(
    ctx: Context, numbers: Array, scale: Array, zero: Array | None, axis: int, block: int,
    *, int8_rows: bool = False,
) -> relax.Expr:  # fmt: skip
    """``(numbers - zero) * scale`` of a matrix of integers.

    Parameters
    ----------
    numbers : ndarray [rows, columns]
        Of 8 bits, or of a storage type of integers.
    scale : ndarray
        f32: one, or one for each place of `axis`, or, with `block`, for each block of `axis`.
    zero : ndarray, optional
        Of the same shape; absent it is 0.
    axis : int
        0 or 1.
    block : int
        Elements of `axis` that share a scale; 0 where there are no blocks.
    int8_rows : bool
        Whether a product by them may round its other operand to int8 (`relax_tools.int8_rows`).
        Of weights with blocks.
    """
    numbers = held(numbers)
    zero = np.zeros(scale.shape, numbers.dtype) if zero is None else held(zero)
    if not block:
        kept = () if scale.size == 1 else (scale.size,)
        return _made(ctx, numbers, scale.reshape(kept), zero.reshape(kept), axis)
    rows, scales, zeros = (np.moveaxis(a, axis, 1) for a in (numbers, scale, zero))
    count, length = rows.shape
    blocks = scales.shape[1]
    padded = np.pad(rows, ((0, 0), (0, blocks * block - length)))
    parts = (padded.reshape(-1, block), scales.reshape(-1), zeros.reshape(-1))
    weight = _made(ctx, *parts, 0)
    if int8_rows:
        weight = ctx.emit(allowing(weight))
    weight = ctx.reshape(weight, [count, blocks * block])
    if blocks * block != length:
        weight = ctx.emit(relax.op.strided_slice(weight, [1], [0], [length], [1]))
    return weight if axis == 1 else ctx.emit(relax.op.permute_dims(weight))


def _made(ctx: Context, numbers: Array, scale: Array, zero: Array, axis: int) -> relax.Var:
    made = relax.op.dequantize(
        ctx.const(numbers, str(numbers.dtype)),
        ctx.const(scale, "float32"),
        ctx.const(zero, str(zero.dtype)),
        axis=axis,
    )
    return ctx.emit(made)
