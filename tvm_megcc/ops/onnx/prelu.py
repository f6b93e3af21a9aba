"""PRelu with a slope of any shape that broadcasts."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ...shapes.constraints import broadcast, require
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.activations import leaky
from ..common.operands import reshaped

_RULE = broadcast(whole=0)


class PRelu(OnnxOp):
    """``nn.prelu`` for one slope per channel, ``nn.leakyrelu`` for one in all, else a ``where``.

    Of integers always that: TVM has the others for floats, and no float has every slope.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        rank, slope = inputs.rank(0), inputs.static_shape(1)
        if ctx.opset < 7 and len(slope) == 1 and rank > 1:
            slope = (slope[0], *[1] * (rank - 2))  # opset 6: along the channels
        # Which axes have to agree depends on the opset, so the labels are not the class's.
        data = require(ctx, _RULE, [inputs[0], np.empty(slope)], attrs)[0]
        varying = [axis for axis, size in enumerate(slope) if size != 1]
        known, of_floats = inputs.known(1), "float" in inputs.dtype(0)
        if not varying and known is not None and of_floats:
            return leaky(ctx, data, float(known.reshape(-1)[0]))
        if len(varying) == 1 and len(slope) <= rank and of_floats:
            axis = varying[0] + rank - len(slope)
            return relax.op.nn.prelu(data, reshaped(ctx, inputs, 1, [-1]), axis)
        below = relax.op.less(data, ctx.const(0, inputs.dtype(0)))
        return relax.op.where(below, relax.op.multiply(data, reshaped(ctx, inputs, 1, slope)), data)
