"""PRelu with a slope of any shape that broadcasts."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._activations import leaky
from ._agree import broadcast
from ._shapes import reshaped


class PRelu(OnnxOp):
    """``nn.prelu`` for one slope per channel, ``nn.leakyrelu`` for one in all, else a ``where``."""

    name = "PRelu"
    labels = staticmethod(broadcast(whole=0))

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        data, rank = inputs[0], inputs.rank(0)
        slope = inputs.static_shape(1)
        if ctx.opset < 7 and len(slope) == 1 and rank > 1:
            slope = (slope[0], *[1] * (rank - 2))  # opset 6: along the channels
        varying = [axis for axis, size in enumerate(slope) if size != 1]
        known = inputs.known(1)
        if not varying and known is not None:
            return leaky(ctx, data, float(known.reshape(-1)[0]))
        if len(varying) == 1 and len(slope) <= rank:
            axis = varying[0] + rank - len(slope)
            return relax.op.nn.prelu(data, reshaped(ctx, inputs, 1, [-1]), axis)
        below = relax.op.less(data, ctx.const(0, inputs.dtype(0)))
        return relax.op.where(below, relax.op.multiply(data, reshaped(ctx, inputs, 1, slope)), data)
