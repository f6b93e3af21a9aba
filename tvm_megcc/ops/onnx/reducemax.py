"""ReduceMax."""

from __future__ import annotations

from functools import reduce

from tvm import relax

from .. import Context
from ..common.arithmetic import maximum, reduced
from ..common.reduction import Reduction, extreme


class ReduceMax(Reduction):
    """``max``; of booleans their ``or``."""

    name = "ReduceMax"
    on_sizes = staticmethod(reduced(lambda items: reduce(maximum, items)))

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return extreme(x, axes, keep, largest=True)
