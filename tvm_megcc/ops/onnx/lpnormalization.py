"""LpNormalization."""

from __future__ import annotations

from tvm import relax

from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import expr_dtype


class LpNormalization(OnnxOp):
    """``x / sum(|x|)`` or ``x / sqrt(sum(x * x))`` along an axis, 0 where all of it is 0."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        axis = [normal_axis(int(attrs.get("axis", -1)), inputs.rank(0))]
        x, p = inputs[0], attrs.get("p", 2)
        if p not in (1, 2):
            raise ctx.unsupported(f"p is {p}", "use 1 or 2")
        if p == 1:
            norm = ctx.emit(relax.op.sum(relax.op.abs(x), axis, True))
        else:
            norm = ctx.emit(relax.op.sqrt(relax.op.sum(relax.op.multiply(x, x), axis, True)))
        zero = ctx.const(0, expr_dtype(x))
        return relax.op.where(relax.op.equal(norm, zero), zero, relax.op.divide(x, norm))
