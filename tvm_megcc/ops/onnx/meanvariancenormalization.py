"""MeanVarianceNormalization."""

from __future__ import annotations

from tvm import relax

from ...shapes.axes import normal_axes
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.centred import centred
from ..common.context import expr_dtype

#: What ONNX's definition adds to the deviation.
EPSILON = 1e-9


class MeanVarianceNormalization(OnnxOp):
    """``(x - mean) / (deviation + 1e-9)``.

    The variance is the mean of squared differences. ONNX's definition, the mean square less the
    squared mean, is below 0 by rounding where the elements are nearly equal, and has no root then.
    """

    name = "MeanVarianceNormalization"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x, rank = inputs[0], inputs.rank(0)
        if 0 in inputs.shape(0):  # TVM divides by the number of elements
            return x
        axes = normal_axes(attrs.get("axes", [0, 2, 3]), rank)
        apart, _, variance = centred(ctx, x, axes)
        deviation = relax.op.add(relax.op.sqrt(variance), ctx.const(EPSILON, expr_dtype(x)))
        return relax.op.divide(apart, deviation)
