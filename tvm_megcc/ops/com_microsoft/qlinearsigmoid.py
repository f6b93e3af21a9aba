"""com.microsoft::QLinearSigmoid."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.quantised import quantised, real


class QLinearSigmoid(Composite):
    """Sigmoid of the real value, quantised: operands X, scale, point, scale, point."""

    name = "QLinearSigmoid"
    domain = "com.microsoft"

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        value = relax.op.sigmoid(real(ctx, inputs, 0))
        return quantised(ctx, ctx.emit(value), inputs, 3, inputs.dtype(0))
