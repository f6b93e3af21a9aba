"""Shrink."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result


class Shrink(OnnxOp):
    """``x + bias`` below ``-lambd``, else ``x - bias`` above ``lambd``, else 0.

    Of a negative ``lambd`` both are true in the middle: the first one counts.
    """

    name = "Shrink"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x, dtype = inputs[0], inputs.dtype(0)
        edge, bias = (attrs.get(k, v) for k, v in (("lambd", 0.5), ("bias", 0.0)))
        low, high, shift, zero = (ctx.const(v, dtype) for v in (-edge, edge, bias, 0))
        above = relax.op.where(relax.op.greater(x, high), relax.op.subtract(x, shift), zero)
        return relax.op.where(relax.op.less(x, low), relax.op.add(x, shift), ctx.emit(above))
