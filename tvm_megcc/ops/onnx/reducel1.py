"""ReduceL1."""

from __future__ import annotations

from tvm import relax

from .. import Context
from ..common.reduction import Reduction, total


class ReduceL1(Reduction):
    """``sum(|x|)``."""

    name = "ReduceL1"

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return total(relax.op.abs(x), axes, keep)
