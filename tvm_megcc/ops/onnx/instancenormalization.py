"""InstanceNormalization."""

from __future__ import annotations

from tvm import relax

from ...shapes.constraints import Labels, Shape
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.centred import centred


class InstanceNormalization(OnnxOp):
    """``(x - mean) / sqrt(variance + epsilon)`` of each channel, with its scale and bias."""

    name = "InstanceNormalization"

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        return [[None, "channels"], ["channels"], ["channels"]]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        if 0 in shape:  # a mean divides by the number of elements
            return inputs[0]
        found = centred(ctx, inputs[0], list(range(2, len(shape))))
        wanted = [1, shape[1], *[1] * (len(shape) - 2)]
        scale, bias = (ctx.reshape(inputs[k], wanted) for k in (1, 2))
        factor = ctx.emit(relax.op.divide(scale, found.deviation(ctx, attrs)))
        return ctx.emit(relax.op.add(ctx.emit(relax.op.multiply(found.value, factor)), bias))
