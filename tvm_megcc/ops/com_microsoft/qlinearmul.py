"""com.microsoft::QLinearMul."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, Result
from ..common.agree import broadcast
from ..common.composite import Composite
from ..common.quantised import quantised, real


class QLinearMul(Composite):
    """The product of the real values, quantised.

    ONNX Runtime's document says ``C = (...) / C_scale + C_zero_point``: it rounds that, with the
    zero point, as other quantised operators do not.

    Operands: A, its scale and zero point; B, its scale and zero point; scale and zero point of C.
    """

    name = "QLinearMul"
    domain = "com.microsoft"
    labels = staticmethod(broadcast(0, 3))

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        total = relax.op.multiply(real(ctx, inputs, 0), real(ctx, inputs, 3))
        return quantised(ctx, ctx.emit(total), inputs, 6, inputs.dtype(0), rounds_last=True)
