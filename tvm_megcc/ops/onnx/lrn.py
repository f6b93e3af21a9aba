"""LRN."""

from __future__ import annotations

from tvm import relax

from ...dims import product
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.defaults import f32


class LRN(OnnxOp):
    """``x / (bias + alpha * mean) ** beta``, of the squares over the neighbouring channels."""

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape, dtype, size = inputs.shape(0), inputs.dtype(0), attrs["size"]
        x = inputs[0]
        # One plane per image, whose rows are the channels.
        planes = [shape[0], 1, shape[1], product(shape[2:])]
        squares = ctx.reshape(ctx.emit(relax.op.multiply(x, x)), planes)
        before = (size - 1) // 2  # of an even number of channels the further one comes after
        mean = relax.op.nn.avg_pool2d(
            squares, (size, 1), padding=(before, 0, size - 1 - before, 0), count_include_pad=True
        )
        mean = ctx.reshape(ctx.emit(mean), shape)
        scaled = relax.op.multiply(mean, ctx.const(attrs.get("alpha", f32(1e-4)), dtype))
        base = relax.op.add(scaled, ctx.const(attrs.get("bias", 1.0), dtype))
        return relax.op.divide(x, relax.op.power(base, ctx.const(attrs.get("beta", 0.75), dtype)))
