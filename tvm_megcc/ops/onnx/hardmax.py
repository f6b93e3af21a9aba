"""Hardmax."""

from __future__ import annotations

import numpy as np
from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import expr_dtype
from ..common.softmax import along


class Hardmax(OnnxOp):
    """1 where a comparison of positions with ``argmax`` holds, else 0."""

    name = "Hardmax"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return along(ctx, inputs, attrs, lambda x, axis: _hardmax(ctx, x, axis))


def _hardmax(ctx: Context, x: relax.Expr, axis: int) -> relax.Expr:
    shape = ctx.shape(x)
    size, behind = shape[axis], [1] * (len(shape) - 1 - axis)
    first = ctx.emit(relax.op.argmax(x, axis, True))
    if isinstance(size, int):
        numbers = ctx.const(np.arange(size).reshape([-1, *behind]), "int64")
    else:
        count = ctx.emit(relax.op.arange(0, ctx.prim(size), 1, "int64"))
        numbers = ctx.reshape(count, [size, *behind])
    return relax.op.astype(ctx.emit(relax.op.equal(numbers, first)), expr_dtype(x))
