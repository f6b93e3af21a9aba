"""ConvInteger."""

from __future__ import annotations

from ...shapes.constraints import convolution, numbered
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.convolution import convolve
from ..common.quantised import centred
from ..common.window import window


class ConvInteger(Composite):
    """An i32 convolution of the operands less their zero points."""

    name = "ConvInteger"
    slow = True
    labels = staticmethod(numbered(convolution(0, 1), (1, 0, (3,))))

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        rank = inputs.rank(0)
        win = window(ctx, attrs, list(inputs.static_shape(1)[2:]), inputs.shape(0)[2:])
        data = centred(ctx, inputs, 0, 2, [])
        weight = centred(ctx, inputs, 1, 3, [-1] + [1] * (rank - 1))
        return convolve(ctx, data, weight, win, attrs.get("group", 1))
