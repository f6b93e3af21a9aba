"""Weights reshaped, permuted or cut: constants at import, computed weights at run time.

Enters and leaves: an array where the operand is known, else a Relax expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from tvm import relax

from .context import Context
from .inputs import Inputs

Weight: TypeAlias = npt.NDArray[Any] | relax.Expr


def weight(inputs: Inputs, index: int) -> Weight:
    """An operand; its dims have to be fixed."""
    inputs.static_shape(index)
    known = inputs.known(index)
    return inputs[index] if known is None else known


def dims(ctx: Context, value: Weight) -> tuple[int, ...]:
    return value.shape if isinstance(value, np.ndarray) else ctx.static_shape(value)


def reshaped(ctx: Context, value: Weight, shape: Sequence[int]) -> Weight:
    if isinstance(value, np.ndarray):
        return value.reshape(shape)
    return ctx.reshape(value, shape)


def permuted(ctx: Context, value: Weight, order: Sequence[int]) -> Weight:
    if isinstance(value, np.ndarray):
        return value.transpose(order)
    return ctx.emit(relax.op.permute_dims(value, list(order)))


def mirrored(ctx: Context, value: Weight, axes: Sequence[int]) -> Weight:
    if isinstance(value, np.ndarray):
        return np.flip(value, tuple(axes))
    for axis in axes:
        value = ctx.emit(relax.op.flip(value, axis))
    return value


def part(ctx: Context, value: Weight, axis: int, start: int, stop: int) -> Weight:
    if isinstance(value, np.ndarray):
        return value[(slice(None),) * axis + (slice(start, stop),)]
    if (start, stop) == (0, dims(ctx, value)[axis]):
        return value
    return ctx.emit(relax.op.strided_slice(value, [axis], [start], [stop]))


def row(ctx: Context, value: Weight, number: int) -> Weight:
    """One row, without its axis."""
    return reshaped(ctx, part(ctx, value, 0, number, number + 1), dims(ctx, value)[1:])


def total(ctx: Context, a: Weight, b: Weight, dtype: str) -> Weight:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a + b
    return ctx.emit(relax.op.add(expression(ctx, a, dtype), expression(ctx, b, dtype)))


def kept(ctx: Context, value: Weight, mask: npt.NDArray[np.bool_], dtype: str) -> Weight:
    """The elements where a mask is true, zeros elsewhere."""
    if isinstance(value, np.ndarray):
        return np.where(mask, value, 0)
    return ctx.emit(relax.op.where(ctx.const(mask, "bool"), value, ctx.const(0, dtype)))


def expression(ctx: Context, value: Weight, dtype: str) -> relax.Expr:
    return ctx.const(value, dtype) if isinstance(value, np.ndarray) else value
