"""Read sizes from data: the elements of a tensor become dims of shapes.

Enters: an integer tensor of static shape. Leaves: sizes, one per element, which are dims like any
other; the model reads them during the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax, te, tirx
from tvm.script.ir_builder import tirx as T

from tvm_megcc.dims import Size, Symbol
from tvm_megcc.relax_tools.tir_kernels import computed, local

from .builder import ShapeBuilder


def sizes_from(
    ctx: ShapeBuilder,
    counts: relax.Expr,
    names: Sequence[str],
    highs: Sequence[Size | None],
    low: int = 0,
) -> list[Size]:
    """The elements of `counts` (``int64[k]``) as sizes.

    Parameters
    ----------
    ctx : ShapeBuilder
    counts : relax.Expr
    names : sequence of str
        A name for each size, in messages and in the package; the node's output is put before it.
    highs : sequence of Size or None
        Upper bounds, where they are known.
    low : int
        Lower bound: a run that reads a smaller number is refused.
    """
    shape = ctx.emit(relax.op.tensor_to_shape(counts))
    variables = [tirx.Var(ctx.unused_dim(f"{ctx.stem}_{name}"), "int64") for name in names]
    ctx.builder.match_cast(shape, relax.ShapeType(variables), f"{ctx.stem}_sizes")
    return [
        ctx.new_dim(Symbol(v.name, low, high if isinstance(high, int) else None), v)
        for v, high in zip(variables, highs, strict=True)
    ]


def count_true(ctx: ShapeBuilder, flags: relax.Expr, name: str = "count") -> Size:
    """The number of true elements of a vector of bools, as a size."""
    ones = ctx.emit(relax.op.astype(flags, "int64"))
    total = ctx.emit(relax.op.sum(ones, axis=[0], keepdims=True))
    (count,) = sizes_from(ctx, total, [name], ctx.shape(flags))
    return count


def where_true(ctx: ShapeBuilder, flags: relax.Expr) -> tuple[relax.Expr, Size]:
    """The positions of the true elements of a vector, as ``int64[m]``, and m.

    Each position is written to its rank among the true ones; the others share a place behind.
    """
    (size,) = ctx.shape(flags)
    count = count_true(ctx, flags)
    target = ctx.builder.emit_te(_ranks, flags, primfunc_name_hint="ranks")
    numbers = ctx.emit(relax.op.arange(0, ctx.prim(size), 1, "int64"))
    room = ctx.emit(relax.op.zeros(relax.ShapeExpr(ctx.prims([size + 1])), "int64"))
    found = ctx.emit(relax.op.scatter_elements(room, target, numbers, axis=0))
    head = relax.op.strided_slice(found, [0], [0], [ctx.prim(count)], assume_inbound=True)
    return ctx.emit(head), count


def _ranks(flags: te.Tensor) -> te.Tensor:
    """For each true element the number of true elements before it; for others the vector's size.

    Not ``relax.op.cumsum``, which writes the first element also where there is none.
    """
    (size,) = flags.shape

    def kernel(given: Any, result: Any) -> None:
        so_far = local()
        so_far[0] = tirx.const(0, "int64")
        with T.serial(0, size) as k:
            result[k] = tirx.if_then_else(given[k], so_far[0], tirx.Cast("int64", size))
            so_far[0] = so_far[0] + tirx.Cast("int64", given[k])

    return computed("ranks", [flags], [(flags.shape, "int64")], kernel)
