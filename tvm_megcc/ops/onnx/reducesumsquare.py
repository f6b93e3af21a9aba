"""ReduceSumSquare."""

from __future__ import annotations

from tvm import relax

from .. import Context
from ..common.reduction import Reduction, total


class ReduceSumSquare(Reduction):
    """``sum(x * x)``."""

    name = "ReduceSumSquare"

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return total(relax.op.multiply(x, x), axes, keep)
