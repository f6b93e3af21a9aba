"""ReduceMax."""

from __future__ import annotations

from tvm import relax

from . import Context
from ._reduction import Reduction, extreme


class ReduceMax(Reduction):
    """``max``; of booleans their ``or``."""

    name = "ReduceMax"

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return extreme(relax.op.max, x, axes, keep)
