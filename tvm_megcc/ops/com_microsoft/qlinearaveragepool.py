"""com.microsoft::QLinearAveragePool."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.moved import channels_first, channels_last
from ..common.operands import reshaped
from ..common.quantised import real, saturate
from ..onnx.averagepool import AveragePool


class QLinearAveragePool(Composite):
    """AveragePool of the real value, quantised; with ``channels_last`` of NHWC.

    ``count_include_pad`` divides by the size of the window, as ONNX Runtime does here: also where
    ``ceil_mode`` lets it leave the padding.
    """

    name = "QLinearAveragePool"

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        value = real(ctx, inputs, 0)
        last = bool(attrs.get("channels_last", 0))
        if last:
            value = channels_first(ctx, value)
        value = ctx.emit(AveragePool.pooled(ctx, inputs.of(ctx, [value]), attrs, whole=True))
        if last:
            value = channels_last(ctx, value)
        return self._rounded(ctx, inputs, value)

    @staticmethod
    def _rounded(ctx: Context, inputs: Inputs, value: relax.Expr) -> relax.Expr:
        """Quantised as ONNX Runtime does here: the zero point is added before rounding."""
        op, dtype = relax.op, inputs.dtype(0)
        value = ctx.emit(op.divide(value, reshaped(ctx, inputs, 3, [])))
        if inputs.has(4):
            value = ctx.emit(op.add(value, op.astype(reshaped(ctx, inputs, 4, []), "float32")))
        return saturate(ctx, value, None, dtype)
