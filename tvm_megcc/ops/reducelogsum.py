"""ReduceLogSum."""

from __future__ import annotations

from tvm import relax

from . import Context
from ._reduction import Reduction, through_double, total


class ReduceLogSum(Reduction):
    """``log(sum(x))``."""

    name = "ReduceLogSum"

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return through_double(ctx, ctx.emit(total(x, axes, keep)), relax.op.log)
