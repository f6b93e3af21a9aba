"""ReduceL2."""

from __future__ import annotations

from tvm import relax

from . import Context
from ._reduction import Reduction, through_double, total


class ReduceL2(Reduction):
    """``sqrt(sum(x * x))``."""

    name = "ReduceL2"

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        squares = ctx.emit(total(relax.op.multiply(x, x), axes, keep))
        return through_double(ctx, squares, relax.op.sqrt)
