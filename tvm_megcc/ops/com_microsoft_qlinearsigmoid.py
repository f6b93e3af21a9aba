"""com.microsoft::QLinearSigmoid."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, Result
from ._composite import Composite
from ._quantised import real, saturate
from ._shapes import reshaped


class QLinearSigmoid(Composite):
    """Sigmoid of the real value, quantised: operands X, scale, point, scale, point."""

    name = "QLinearSigmoid"
    domain = "com.microsoft"

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        value = relax.op.sigmoid(real(ctx, inputs, 0))
        scaled = ctx.emit(relax.op.divide(value, reshaped(ctx, inputs, 3, [])))
        point = reshaped(ctx, inputs, 4, []) if inputs.has(4) else None
        return saturate(ctx, scaled, point, inputs.dtype(0))
