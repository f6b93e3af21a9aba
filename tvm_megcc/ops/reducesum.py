"""ReduceSum."""

from __future__ import annotations

from tvm import relax

from . import Context
from ._reduction import Reduction, total


class ReduceSum(Reduction):
    """``sum``."""

    name = "ReduceSum"

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return total(x, axes, keep)
