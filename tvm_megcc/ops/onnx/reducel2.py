"""ReduceL2."""

from __future__ import annotations

from tvm import relax

from .. import Context
from ..common.reduction import Reduction, through_double, total


class ReduceL2(Reduction):
    """``sqrt(sum(x * x))``; of integers, too, whose squares only a real number holds."""

    name = "ReduceL2"

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        def norm(y: relax.Expr) -> relax.Expr:
            return relax.op.sqrt(total(relax.op.multiply(y, y), axes, keep))

        return through_double(ctx, x, norm)
