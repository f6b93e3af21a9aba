"""Tensors with their axes in another order."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from .context import Context


def channels_first(ctx: Context, x: relax.Expr) -> relax.Expr:
    """``[n, ..., c]`` as ``[n, c, ...]``."""
    rank = len(ctx.shape(x))
    return ctx.emit(relax.op.permute_dims(x, [0, rank - 1, *range(1, rank - 1)]))


def channels_last(ctx: Context, x: relax.Expr) -> relax.Expr:
    """``[n, c, ...]`` as ``[n, ..., c]``."""
    rank = len(ctx.shape(x))
    return ctx.emit(relax.op.permute_dims(x, [0, *range(2, rank), 1]))


def on_last_axis(
    ctx: Context, x: relax.Expr, axis: int, compute: Callable[[relax.Expr], relax.Expr]
) -> relax.Expr:
    """Apply `compute` to the tensor with this axis last, then put the axis back."""
    rank = len(ctx.shape(x))
    if axis == rank - 1:
        return compute(x)
    order = [a for a in range(rank) if a != axis] + [axis]
    result = compute(ctx.emit(relax.op.permute_dims(x, order)))
    return ctx.emit(relax.op.permute_dims(result, [order.index(a) for a in range(rank)]))
