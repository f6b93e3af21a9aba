"""QLinearConv."""

from __future__ import annotations

from ...shapes.constraints import convolution, numbered
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.convolution import convolve
from ..common.operands import with_bias
from ..common.quantised import centred, factor, requantise
from ..common.window import window


class QLinearConv(Composite):
    """An i32 convolution of the operands less their zero points, then requantised."""

    name = "QLinearConv"
    slow = True
    labels = staticmethod(numbered(convolution(0, 3), (3, 0, (4, 5))))

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        rank = inputs.rank(0)
        win = window(ctx, attrs, list(inputs.static_shape(3)[2:]), inputs.shape(0)[2:])
        data = centred(ctx, inputs, 0, 2, [])
        weight = centred(ctx, inputs, 3, 5, [-1] + [1] * (rank - 1))
        total = convolve(ctx, data, weight, win, attrs.get("group", 1))
        if inputs.has(8):
            total = ctx.emit(with_bias(ctx, inputs, 8, total))
        scale = factor(ctx, inputs, (1, 4, 6), [1, -1] + [1] * (rank - 2))
        return requantise(ctx, total, scale, inputs, 7, inputs.dtype(7))
