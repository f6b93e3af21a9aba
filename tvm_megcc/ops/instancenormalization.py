"""InstanceNormalization."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._agree import Labels, Shape
from ._normalised import apart_and_deviation


class InstanceNormalization(OnnxOp):
    """``(x - mean) / sqrt(variance + epsilon)`` of each channel, with its scale and bias."""

    name = "InstanceNormalization"

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        return [[None, "channels"], ["channels"], ["channels"]]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        _, channels, *rest = inputs.shape(0)
        if 0 in inputs.shape(0):  # a mean divides by the number of elements
            return inputs[0]
        apart, deviation = apart_and_deviation(ctx, inputs[0], range(2, 2 + len(rest)), attrs)
        wanted = [1, channels, *[1] * len(rest)]
        scale, bias = (ctx.reshape(inputs[k], wanted) for k in (1, 2))
        factor = ctx.emit(relax.op.divide(scale, deviation))
        return ctx.emit(relax.op.add(ctx.emit(relax.op.multiply(apart, factor)), bias))
