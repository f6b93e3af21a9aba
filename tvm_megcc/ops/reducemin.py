"""ReduceMin."""

from __future__ import annotations

from tvm import relax

from . import Context
from ._reduction import Reduction, extreme


class ReduceMin(Reduction):
    """``min``; of booleans their ``and``."""

    name = "ReduceMin"

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return extreme(relax.op.min, x, axes, keep)
