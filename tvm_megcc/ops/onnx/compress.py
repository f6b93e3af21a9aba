"""Compress."""

from __future__ import annotations

from tvm import relax

from ...dims import product
from ...shapes.axes import normal_axis
from ...shapes.read_from_data import where_true
from .. import Attrs, Context, Inputs, OnnxOp, Result


class Compress(OnnxOp):
    """``take`` at the positions of the true conditions; missing conditions are false.

    There may not be more conditions than elements.
    """

    name = "Compress"
    data_dependent = True
    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        data, axis = inputs[0], attrs.get("axis")
        if axis is None:
            data, axis = ctx.reshape(data, [product(inputs.shape(0))]), 0
        axis = normal_axis(axis, len(ctx.shape(data)))
        (conditions,) = inputs.shape(1)
        data = ctx.at_least(data, axis, conditions)
        positions, _ = where_true(ctx, inputs[1])
        return relax.op.take(data, positions, axis=axis)
