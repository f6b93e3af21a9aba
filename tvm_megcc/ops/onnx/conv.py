"""Conv: 1, 2 or 3 spatial dims, any group, dilation and padding."""

from __future__ import annotations

from ...shapes.constraints import convolution
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.convolution import convolve
from ..common.operands import with_bias
from ..common.window import window


class Conv(OnnxOp):
    """``nn.conv{1,2,3}d`` (NCHW, OIHW), then the bias as an ``add`` of ``[1, C, 1, 1]``."""

    slow = True
    labels = staticmethod(convolution(0, 1))

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dims = inputs.shape(0)[2:]
        win = window(ctx, attrs, list(inputs.static_shape(1)[2:]), dims)
        result = convolve(ctx, inputs[0], inputs[1], win, attrs.get("group", 1))
        if inputs.has(2):
            result = with_bias(ctx, inputs, 2, result)
        return result
