"""Shrink."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result


class Shrink(OnnxOp):
    """``x + bias`` below ``-lambd``, else ``x - bias`` above ``lambd``, else 0.

    Of a negative ``lambd`` both are true in the middle: the first one counts.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x, dtype = inputs[0], inputs.dtype(0)
        edge, bias = (float(attrs.get(k, v)) for k, v in (("lambd", 0.5), ("bias", 0.0)))
        if "int" in dtype:
            return _of_integers(ctx, inputs, edge, bias)
        low, high, shift, zero = (ctx.const(v, dtype) for v in (-edge, edge, bias, 0))
        above = relax.op.where(relax.op.greater(x, high), relax.op.subtract(x, shift), zero)
        return relax.op.where(relax.op.less(x, low), relax.op.add(x, shift), ctx.emit(above))


def _of_integers(ctx: Context, inputs: Inputs, edge: float, bias: float) -> relax.Expr:
    """The edge and the bias stay real numbers: cut to integers they would be other ones.

    Sums are cut to integers; those with a whole bias are exact, and keep their low bits.
    """
    x, dtype = inputs[0], inputs.dtype(0)
    info = np.iinfo(dtype)
    zero = ctx.const(0, dtype)
    result = zero
    # An integer is above a real number where it is above the next integer down, and so on.
    high = math.floor(edge) if math.isfinite(edge) else edge
    if high < info.min:
        result = _moved(ctx, x, dtype, -bias)
    elif high < info.max:
        is_above = relax.op.greater(x, ctx.const(high, dtype))
        result = ctx.emit(relax.op.where(is_above, _moved(ctx, x, dtype, -bias), zero))
    low = math.ceil(-edge) if math.isfinite(edge) else -edge
    if low > info.max:
        result = _moved(ctx, x, dtype, bias)
    elif low > info.min:
        is_below = relax.op.less(x, ctx.const(low, dtype))
        result = relax.op.where(is_below, _moved(ctx, x, dtype, bias), result)
    return relax.op.full(ctx.prims(inputs.shape(0)), zero, dtype) if result is zero else result


def _moved(ctx: Context, x: relax.Expr, dtype: str, by: float) -> relax.Expr:
    """Integers plus a real number."""
    if by.is_integer():
        low_bits = np.array(int(by) % 2 ** np.iinfo(dtype).bits, "uint64").astype(dtype)
        return relax.op.add(x, ctx.const(low_bits, dtype))
    real = relax.op.add(relax.op.astype(x, "float64"), ctx.const(by, "float64"))
    return ctx.emit(relax.op.astype(ctx.emit(real), dtype))
