"""com.microsoft::QLinearLeakyRelu."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, Result
from ..common.activations import leaky
from ..common.composite import Composite
from ..common.quantised import quantised, real


class QLinearLeakyRelu(Composite):
    """LeakyRelu of the real value, quantised: operands X, scale, point, scale, point."""

    name = "QLinearLeakyRelu"
    domain = "com.microsoft"

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        value = ctx.emit(leaky(ctx, real(ctx, inputs, 0), attrs.get("alpha", 0.01)))
        return quantised(ctx, ctx.emit(value), inputs, 3, inputs.dtype(0))
