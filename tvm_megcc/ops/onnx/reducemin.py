"""ReduceMin."""

from __future__ import annotations

from functools import reduce

from tvm import relax

from .. import Context
from ..common.arithmetic import minimum, reduced
from ..common.reduction import Reduction, extreme


class ReduceMin(Reduction):
    """``min``; of booleans their ``and``."""

    name = "ReduceMin"
    on_sizes = staticmethod(reduced(lambda items: reduce(minimum, items)))

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return extreme(x, axes, keep, largest=False)
