"""ReduceLogSum."""

from __future__ import annotations

from tvm import relax

from .. import Context
from ..common.reduction import Reduction, through_double, total


class ReduceLogSum(Reduction):
    """``log(sum(x))``; of integers, too, whose sum only a real number holds."""

    name = "ReduceLogSum"

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return through_double(ctx, x, lambda y: relax.op.log(total(y, axes, keep)))
