"""ReduceSum."""

from __future__ import annotations

from functools import reduce
from operator import add

from tvm import relax

from .. import Context
from ..common.arithmetic import reduced
from ..common.reduction import Reduction, total


class ReduceSum(Reduction):
    """``sum``."""

    name = "ReduceSum"
    on_sizes = staticmethod(reduced(lambda items: reduce(add, items)))

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return total(x, axes, keep)
