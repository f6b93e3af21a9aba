"""Mish."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result

#: Above, the curve is a line to the last bit of f64; below, the square of exp(x) fits in f32.
_LINE = 40.0


class Mish(OnnxOp):
    """``x * tanh(log(1 + exp(x)))`` without the logarithm.

    With ``e = exp(x)`` the hyperbolic tangent is ``n / (n + 2)``, where ``n = e * (e + 2)``: no sum
    loses the digits of a small ``e``.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x, dtype = inputs[0], inputs.dtype(0)
        power = ctx.emit(relax.op.exp(relax.op.minimum(x, ctx.const(_LINE, dtype))))
        two = ctx.const(2, dtype)
        above = ctx.emit(relax.op.multiply(power, relax.op.add(power, two)))
        return relax.op.multiply(x, relax.op.divide(above, relax.op.add(above, two)))
