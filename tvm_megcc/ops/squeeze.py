"""Squeeze, with axes as attribute or operand (opset 13), or without."""

from __future__ import annotations

from tvm import relax

from ..dims import is_static
from . import Attrs, Context, Inputs, OnnxOp, Result
from ._axes_data import others
from ._shapes import normal_axis


class Squeeze(OnnxOp):
    """``squeeze``; a reshape to the dims that are left, where the axes are computed at run time."""

    name = "Squeeze"
    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        if inputs.has(1) and inputs.ints(1) is None and inputs.shape(1) != (0,):
            return ctx.reshape(inputs[0], others(ctx, inputs[1], shape, ones=True))
        axes = (inputs.ints(1) or []) if inputs.has(1) else attrs.get("axes")
        if axes is None:
            axes = [i for i, d in enumerate(shape) if isinstance(d, int) and d == 1]
        axes = [normal_axis(axis, len(shape)) for axis in axes]
        if not axes:
            return inputs[0]
        # A symbolic dim that is squeezed has to be 1.
        ones = [1 if k in axes and d != 1 else d for k, d in enumerate(shape)]
        data = inputs[0] if is_static(shape) else ctx.cast(inputs[0], ones)
        return relax.op.squeeze(data, axes)
