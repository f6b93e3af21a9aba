"""Sign."""

from __future__ import annotations

from tvm import relax

from ...shapes.arithmetic import elementwise, sign
from .. import Attrs, Context, Inputs, OnnxOp, Result


class Sign(OnnxOp):
    """``sign``; of what is not a number, itself, and without -1 where there is no such number."""

    name = "Sign"
    on_sizes = staticmethod(elementwise(sign))

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x, dtype = inputs[0], inputs.dtype(0)
        zero, one = ctx.const(0, dtype), ctx.const(1, dtype)
        if dtype.startswith("uint"):
            return relax.op.minimum(x, one)
        if "float" not in dtype:
            return relax.op.sign(x)
        low = relax.op.where(relax.op.less(x, zero), ctx.const(-1, dtype), x)
        return relax.op.where(relax.op.greater(x, zero), one, ctx.emit(low))
