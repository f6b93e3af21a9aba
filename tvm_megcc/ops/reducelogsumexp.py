"""ReduceLogSumExp."""

from __future__ import annotations

from tvm import relax

from . import Context
from ._reduction import Reduction


class ReduceLogSumExp(Reduction):
    """``log(sum(exp(x - max))) + max``, which does not overflow."""

    name = "ReduceLogSumExp"

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        if not axes:
            return x
        peak = ctx.emit(relax.op.max(x, axes, True))
        summed = relax.op.sum(relax.op.exp(relax.op.subtract(x, peak)), axes, keep)
        offset = peak if keep else relax.op.squeeze(peak, axes)
        return relax.op.add(relax.op.log(summed), offset)
