"""Flatten."""

from __future__ import annotations

from ...dims import product
from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, OnnxOp, Result


class Flatten(OnnxOp):
    """``reshape`` to two dims."""

    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        axis = attrs.get("axis", 1)
        if axis != len(shape):  # behind the last one is an axis, too
            axis = normal_axis(axis, len(shape))
        return ctx.reshape(inputs[0], [product(shape[:axis]), product(shape[axis:])])
