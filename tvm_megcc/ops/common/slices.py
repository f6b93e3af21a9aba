"""Parts of a tensor between sizes, static or symbolic; and a tensor between paddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import relax

from ...dims import Size, at, ceildiv, is_static
from .context import Context


def sliced(
    ctx: Context, data: relax.Expr, parts: Sequence[tuple[int, Size, Size, int]]
) -> relax.Expr:
    """``strided_slice`` of ``(axis, start, end, step)`` with ``0 <= start <= end <= dim``."""
    if not parts:
        return data
    shape = list(ctx.shape(data))
    for axis, start, end, step in parts:
        shape[axis] = ceildiv(end - start, step)
    axes, begin, stop, stride = (list(column) for column in zip(*parts, strict=True))
    # The limits are within the axis: TVM would clamp symbolic ones again in the result's shape.
    inbound = not is_static([*begin, *stop, *shape])
    result = relax.op.strided_slice(
        data, axes, ctx.prims(begin), ctx.prims(stop), stride, assume_inbound=inbound
    )
    return ctx.cast(result, shape)


def taken(
    ctx: Context, data: relax.Expr, axis: int, start: Size, count: Size, step: int = 1
) -> relax.Expr:
    """``count`` elements of an axis from `start` on, for sizes that are read from data.

    A ``strided_slice`` would be a view, whose offset is unknown when views get addresses.
    """
    numbers = ctx.emit(relax.op.arange(0, ctx.prim(count), 1, "int64"))
    if step != 1:
        numbers = ctx.emit(relax.op.multiply(numbers, ctx.const(step, "int64")))
    positions = ctx.emit(relax.op.add(numbers, ctx.reshape(ctx.sizes([start], "int64"), [])))
    return ctx.emit(relax.op.take(data, positions, axis=axis))


def backwards(
    ctx: Context, data: relax.Expr, axis: int, start: Size, step: int, count: Size
) -> relax.Expr:
    """``count`` elements from ``start`` on, by a negative ``step``."""
    if is_static((start, count)):
        positions = at(start, {}) + step * np.arange(at(count, {}), dtype=np.int64)
        return ctx.emit(relax.op.take(data, ctx.const(positions, "int64"), axis))
    offsets = relax.op.arange(0, ctx.prim(count), 1, "int64")
    offsets = relax.op.multiply(ctx.emit(offsets), ctx.const(step, "int64"))
    index = ctx.emit(relax.op.add(ctx.sizes([start], "int64"), ctx.emit(offsets)))
    return ctx.emit(relax.op.take(data, index, axis, "clip"))


def padded(
    ctx: Context, data: relax.Expr, before: Sequence[Size], after: Sequence[Size], fill: relax.Expr
) -> relax.Expr:
    """``concat`` with blocks of one element, a tensor of rank 0."""
    shape = list(ctx.shape(data))
    for axis, widths in enumerate(zip(before, after, strict=True)):
        parts = []
        for width in widths:
            # Dims as the data writes them: TVM need not see that others are the same.
            block = list(data.ty.shape.values)
            block[axis] = ctx.prim(width)
            # Not `full`, which TVM cannot compile for an infinity.
            parts.append(relax.op.broadcast_to(fill, block) if width != 0 else None)
        rows = [part for part in (parts[0], data, parts[1]) if part is not None]
        shape[axis] = widths[0] + shape[axis] + widths[1]
        if len(rows) > 1:
            data = ctx.cast(relax.op.concat(rows, axis), shape)
    return data
