"""ReduceLogSum."""

from __future__ import annotations

from tvm import relax

from . import Context
from ._reduction import Reduction, total


class ReduceLogSum(Reduction):
    """``log(sum(x))``."""

    name = "ReduceLogSum"

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return relax.op.log(total(x, axes, keep))
