"""com.microsoft::QuickGelu."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result


class QuickGelu(OnnxOp):
    """``x * sigmoid(alpha * x)``."""

    name = "QuickGelu"
    domain = "com.microsoft"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x, alpha = inputs[0], attrs.get("alpha", 1.702)
        scaled = ctx.emit(relax.op.multiply(x, ctx.const(alpha, inputs.dtype(0))))
        return relax.op.multiply(x, ctx.emit(relax.op.sigmoid(scaled)))
