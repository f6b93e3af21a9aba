"""Channels as the second or the last axis."""

from __future__ import annotations

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
