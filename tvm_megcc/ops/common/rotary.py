"""Rotary embeddings: pairs of a head's elements turn by angles that grow with the place."""

from __future__ import annotations

from tvm import relax

from ...dims import Size
from .context import Context
from .indexing import rows_inside


def rotated(
    ctx: Context,
    x: relax.Expr,
    cos: relax.Expr,
    sin: relax.Expr,
    interleaved: bool,
) -> relax.Expr:
    """Heads ``[batch, ., ., size]`` by tables of rank 4 that broadcast to ``[batch, ., ., half]``.

    The pairs are the first elements and those half of the turned part further, or, interleaved,
    neighbours. What the tables are too short for stays.
    """
    op, shape = relax.op, ctx.shape(x)
    half, size = ctx.shape(cos)[3], shape[3]
    turned: Size = 2 * half
    head, rest = x, None
    if turned != size:
        head = _part(ctx, x, 0, turned)
        rest = _part(ctx, x, turned, size)
    if interleaved:
        a, b = (_part(ctx, head, start, turned, 2) for start in (0, 1))
    else:
        a, b = _part(ctx, head, 0, half), _part(ctx, head, half, turned)
    first = ctx.emit(op.subtract(op.multiply(a, cos), op.multiply(b, sin)))
    second = ctx.emit(op.add(op.multiply(a, sin), op.multiply(b, cos)))
    if interleaved:
        result = ctx.reshape(ctx.emit(op.stack([first, second], axis=4)), [*shape[:3], turned])
    else:
        result = ctx.emit(op.concat([first, second], 3))
    return result if rest is None else ctx.emit(op.concat([result, rest], 3))


def _part(ctx: Context, x: relax.Expr, begin: Size, end: Size, step: int = 1) -> relax.Expr:
    limits = ctx.prims([begin]), ctx.prims([end])
    return ctx.emit(relax.op.strided_slice(x, [3], *limits, [step], assume_inbound=True))


def table(
    ctx: Context, values: relax.Expr, places: relax.Expr, heads_last: bool = False
) -> relax.Expr:
    """``[batch or 1, 1, length, half]``: the rows of a table at ``[batch or 1, length]``.

    With `heads_last` ``[batch or 1, length, 1, half]``.
    """
    rows = rows_inside(ctx, values, places)
    batch, length, half = ctx.shape(rows)
    return ctx.reshape(rows, [batch, *([length, 1] if heads_last else [1, length]), half])
