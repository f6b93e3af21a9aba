"""Unsqueeze, with axes as attribute or operand (opset 13)."""

from __future__ import annotations

from tvm import relax

from ...shapes.axes import normal_axes
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.axes_data import widened


class Unsqueeze(OnnxOp):
    """``expand_dims``; a reshape where the axes are computed at run time."""

    name = "Unsqueeze"
    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if inputs.is_computed(1) and inputs.shape(1) != (0,):
            inputs.need_few(1)
            return ctx.reshape(inputs[0], widened(ctx, inputs[1], inputs.shape(0)))
        axes = (inputs.ints(1) or []) if inputs.has(1) else attrs["axes"]
        rank = inputs.rank(0) + len(axes)
        axes = sorted(normal_axes(axes, rank))
        return relax.op.expand_dims(inputs[0], axes) if axes else inputs[0]
