"""ReduceMean."""

from __future__ import annotations

from tvm import relax

from . import Context
from ._context import expr_dtype, volume
from ._reduction import Reduction


class ReduceMean(Reduction):
    """``mean``; of integers the sum divided, cut to an integer."""

    name = "ReduceMean"

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        if not axes:
            return x
        dtype = expr_dtype(x)
        if "int" not in dtype:
            return relax.op.mean(x, axes, keep)
        # TVM's mean of int32 is int64 once it is legalised.
        shape = ctx.shape(x)
        count = ctx.sizes([volume([shape[a] for a in axes])], dtype)
        return relax.op.divide(relax.op.sum(x, axes, keep), count)
