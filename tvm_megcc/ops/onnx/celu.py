"""Celu."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import expr_dtype


class Celu(OnnxOp):
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``.

    ONNX's definition by other operators gives this for a positive alpha only.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x = inputs[0]
        dtype = expr_dtype(x)
        alpha, zero, one = (ctx.const(v, dtype) for v in (float(attrs.get("alpha", 1.0)), 0, 1))
        powered = ctx.emit(relax.op.exp(ctx.emit(relax.op.divide(x, alpha))))
        below = ctx.emit(relax.op.multiply(alpha, ctx.emit(relax.op.subtract(powered, one))))
        return relax.op.add(relax.op.maximum(x, zero), relax.op.minimum(below, zero))
