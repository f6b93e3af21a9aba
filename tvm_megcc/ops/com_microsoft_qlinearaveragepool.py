"""com.microsoft::QLinearAveragePool."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, Result, find
from ._composite import Composite
from ._moved import channels_first, channels_last
from ._quantised import real, saturate
from ._shapes import reshaped


class QLinearAveragePool(Composite):
    """AveragePool of the real value, quantised; with ``channels_last`` of NHWC."""

    name = "QLinearAveragePool"
    domain = "com.microsoft"

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        pool, value = find("", "AveragePool"), real(ctx, inputs, 0)
        assert pool is not None
        last = bool(attrs.get("channels_last", 0))
        if last:
            value = channels_first(ctx, value)
        value = ctx.emit(pool.convert(ctx.at_opset(19), inputs.of(ctx, [value]), attrs))
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
