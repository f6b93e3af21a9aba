"""ReduceLogSumExp."""

from __future__ import annotations

from tvm import relax

from .. import Context
from ..common.context import expr_dtype
from ..common.reduction import Reduction, through_double


class ReduceLogSumExp(Reduction):
    """``log(sum(exp(x - max))) + max``, which does not overflow."""

    name = "ReduceLogSumExp"

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        if not axes:
            return x
        return through_double(ctx, x, lambda y: self._stable(ctx, y, axes, keep))

    def _stable(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        peak = ctx.emit(relax.op.max(x, axes, True))
        # An infinite peak is none to subtract: infinity less infinity is no number.
        zero = ctx.const(0, expr_dtype(x))
        peak = ctx.emit(relax.op.where(relax.op.isfinite(peak), peak, zero))
        summed = relax.op.sum(relax.op.exp(relax.op.subtract(x, peak)), axes, keep)
        offset = peak if keep else relax.op.squeeze(peak, axes)
        return relax.op.add(relax.op.log(summed), offset)
