"""Rotary embeddings: pairs of a head's elements turn by angles that grow with the place."""

from __future__ import annotations

from tvm import relax

from ._context import Context
from ._indexing import rows_inside


def rotated(
    ctx: Context,
    x: relax.Expr,
    cos: relax.Expr,
    sin: relax.Expr,
    interleaved: bool,
) -> relax.Expr:
    """``[batch, heads, length, size]`` by ``[batch or 1, 1, length, half]`` of the tables' rows.

    The pairs are the first elements and those half of the turned part further, or, interleaved,
    neighbours. What the tables are too short for stays.
    """
    op, shape = relax.op, ctx.shape(x)
    half, size = ctx.static([ctx.shape(cos)[3], shape[3]])
    head, rest = x, None
    if 2 * half < size:
        head = ctx.emit(op.strided_slice(x, [3], [0], [2 * half], [1]))
        rest = ctx.emit(op.strided_slice(x, [3], [2 * half], [size], [1]))
    begins = ([0], [1]) if interleaved else ([0], [half])
    ends = ([2 * half],) * 2 if interleaved else ([half], [2 * half])
    step = [2 if interleaved else 1]
    a, b = (
        ctx.emit(op.strided_slice(head, [3], begin, end, step))
        for begin, end in zip(begins, ends, strict=True)
    )
    first = ctx.emit(op.subtract(op.multiply(a, cos), op.multiply(b, sin)))
    second = ctx.emit(op.add(op.multiply(a, sin), op.multiply(b, cos)))
    if interleaved:
        turned = ctx.reshape(ctx.emit(op.stack([first, second], axis=4)), [*shape[:3], 2 * half])
    else:
        turned = ctx.emit(op.concat([first, second], 3))
    return turned if rest is None else ctx.emit(op.concat([turned, rest], 3))


def table(ctx: Context, values: relax.Expr, places: relax.Expr) -> relax.Expr:
    """``[batch or 1, 1, length, half]``: the rows of a table at ``[batch or 1, length]``."""
    rows = rows_inside(ctx, values, places)
    batch, length, half = ctx.shape(rows)
    return ctx.reshape(rows, [batch, 1, length, half])
