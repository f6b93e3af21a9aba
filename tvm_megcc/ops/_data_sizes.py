"""Sizes that are read from data: counts in a tensor become dims that stand in shapes.

Enters: an integer tensor of static shape. Leaves: sizes, one per element, which from then on are
like any other dim; the model reads them during the run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tvm import relax, tirx

from ..dims import Size, Symbol, of
from ..shape_exprs import bound, symbol_of
from ._context import Context


def sizes_from(
    ctx: Context,
    counts: relax.Expr,
    names: Sequence[str],
    highs: Sequence[Size | None],
    low: int = 0,
) -> list[Size]:
    """The elements of `counts` (``int64[k]``) as sizes.

    Parameters
    ----------
    ctx : Context
    counts : relax.Expr
    names : sequence of str
        What each size is, for messages and for the package: the node's output is put before it.
    highs : sequence of Size or None
        What each is at most, where that is known.
    low : int
        What each is at least: others are refused when they are read.
    """
    stem = re.sub(r"\W+", "_", next((n for n in ctx.outputs if n), ctx.op), flags=re.ASCII)
    shape = ctx.emit(relax.op.tensor_to_shape(counts))
    variables = [tirx.Var(_unused(ctx, f"{stem}_{name}"), "int64") for name in names]
    ctx.builder.match_cast(shape, relax.ShapeType(variables), f"{stem}_sizes")
    for variable, high in zip(variables, highs, strict=True):
        ctx.variables[variable.name] = variable
        bound(Symbol(variable.name, low, high if isinstance(high, int) else None))
    return [of(symbol_of(v.name)) for v in variables]


def count_true(ctx: Context, flags: relax.Expr, name: str = "count") -> Size:
    """How many elements of a vector of bools are true, as a size."""
    ones = ctx.emit(relax.op.astype(flags, "int64"))
    total = ctx.emit(relax.op.sum(ones, axis=[0], keepdims=True))
    (count,) = sizes_from(ctx, total, [name], ctx.shape(flags))
    return count


def where_true(ctx: Context, flags: relax.Expr) -> tuple[relax.Expr, Size]:
    """The positions of the true elements of a vector, as ``int64[m]``, and m.

    Each position is written to its rank among the true ones; the others share a place behind.
    """
    (size,) = ctx.shape(flags)
    count = count_true(ctx, flags)
    ones = ctx.emit(relax.op.astype(flags, "int64"))
    rank = ctx.emit(relax.op.subtract(relax.op.cumsum(ones, axis=0), ctx.const(1, "int64")))
    target = ctx.emit(relax.op.where(flags, rank, ctx.sizes([size], "int64")))
    numbers = ctx.emit(relax.op.arange(0, ctx.prim(size), 1, "int64"))
    room = ctx.emit(relax.op.zeros(relax.ShapeExpr(ctx.prims([size + 1])), "int64"))
    found = ctx.emit(relax.op.scatter_elements(room, target, numbers, axis=0))
    head = relax.op.strided_slice(found, [0], [0], [ctx.prim(count)], assume_inbound=True)
    return ctx.emit(head), count


def _unused(ctx: Context, name: str) -> str:
    return next(
        n
        for k in range(len(ctx.variables) + 1)
        if (n := f"{name}{k}" if k else name) not in ctx.variables
    )
