"""Compress."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import volume
from ..common.data_sizes import where_true
from ..common.shapes import normal_axis


class Compress(OnnxOp):
    """``take`` at the positions of the true conditions; missing conditions are false.

    There may not be more conditions than elements.
    """

    data_dependent = True
    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        data, axis = inputs[0], attrs.get("axis")
        if axis is None:
            data, axis = ctx.reshape(data, [volume(inputs.shape(0))]), 0
        axis = normal_axis(axis, len(ctx.shape(data)))
        (conditions,) = inputs.shape(1)
        data = ctx.at_least(data, axis, conditions)
        positions, _ = where_true(ctx, inputs[1])
        return relax.op.take(data, positions, axis=axis)
