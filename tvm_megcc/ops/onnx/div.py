"""Div; integers truncate towards zero."""

from __future__ import annotations

from tvm import relax

from ...shapes.arithmetic import divided, elementwise
from .. import Attrs, Context, Inputs, Result
from ..common.elementwise import Binary


class Div(Binary):
    """``divide``, or ``multiply`` by the reciprocal where that is exact (a power of two)."""

    name = "Div"
    function = staticmethod(relax.op.divide)
    on_sizes = staticmethod(elementwise(divided))

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        known, dtype = inputs.known(1), inputs.dtype(0)
        if known is not None and known.size == 1 and dtype == "float32":
            value = float(known.reshape(-1)[0])
            exact = value != 0 and abs(value).hex().startswith("0x1.0000000000000p")
            if exact and 1e-30 < abs(value) < 1e30 and known.ndim <= inputs.rank(0):
                return relax.op.multiply(inputs[0], ctx.const(1 / value, dtype))
        return super().convert(ctx, inputs, attrs)
