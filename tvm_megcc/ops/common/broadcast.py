"""Broadcasting of dims of which only the run says whether they are 1.

ONNX stretches a dim of 1. Where an open dim meets another one, the result's dim is an expression of
both, and the operand is read with a stride of zero where its own dim is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax, te, tirx

from ...dims import Size, compare, select
from .context import Context


def stretched_size(a: Size, b: Size) -> Size:
    """The dim that two dims become, which `fitting` says go together."""
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int) or isinstance(b, int):  # the other one is 1 or the same
        return a if isinstance(a, int) else b
    return select(compare("eq", a, 1), b, a)


def fitting(ctx: Context, data: relax.Expr, axis: int, other: Size) -> relax.Expr:
    """The data, for shapes with which its dim goes together with another one."""
    have = ctx.shape(data)[axis]
    neither = (1 - compare("eq", have, 1)) * (1 - compare("eq", other, 1))
    return ctx.limited(data, axis, have + (other - have) * neither)


def stretched(ctx: Context, data: relax.Expr, dims: Sequence[Size]) -> relax.Expr:
    """The data broadcast to these dims, with which its own go together."""
    have = ctx.shape(data)
    if all(a in (b, 1) for a, b in zip(have, dims[len(dims) - len(have) :], strict=True)):
        return data if list(have) == list(dims) else relax.op.broadcast_to(data, ctx.prims(dims))
    return ctx.builder.emit_te(_repeated, data, relax.ShapeExpr(ctx.prims(dims)))


def _repeated(data: te.Tensor, shape: Any) -> te.Tensor:
    first = len(shape) - len(data.shape)

    def element(*at: Any) -> Any:
        one = tirx.const(1, "int64")
        pairs = zip(at[first:], data.shape, strict=True)
        return data(*(tirx.Select(tirx.Cast("int64", d) == one, i * 0, i) for i, d in pairs))

    return te.compute(list(shape), element, name="stretched")
