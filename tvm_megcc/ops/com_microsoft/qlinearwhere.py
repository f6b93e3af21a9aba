"""com.microsoft::QLinearWhere."""

from __future__ import annotations

from tvm import relax

from ...shapes.constraints import broadcast
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.quantised import quantised, real


class QLinearWhere(Composite):
    """``where`` of two operands, each brought to the scale and zero point of the result."""

    name = "QLinearWhere"
    labels = staticmethod(broadcast(0, 1, 4))

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dtype = inputs.dtype(1)
        first, second = (
            ctx.emit(quantised(ctx, real(ctx, inputs, k), inputs, 7, dtype)) for k in (1, 4)
        )
        return relax.op.where(inputs[0], first, second)
