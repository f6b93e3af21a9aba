"""Squeeze, with axes as attribute or operand (opset 13), or without."""

from __future__ import annotations

from tvm import relax

from ..dims import is_static
from . import Attrs, Context, Inputs, OnnxOp, Result
from ._shapes import normal_axis


class Squeeze(OnnxOp):
    """``squeeze``."""

    name = "Squeeze"
    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        axes = inputs.need_ints(1, "axes") if inputs.has(1) else attrs.get("axes")
        if axes is None:
            axes = [i for i, d in enumerate(shape) if isinstance(d, int) and d == 1]
        axes = [normal_axis(axis, len(shape)) for axis in axes]
        if not axes:
            return inputs[0]
        # A symbolic dim that is squeezed has to be 1.
        ones = [1 if k in axes and d != 1 else d for k, d in enumerate(shape)]
        data = inputs[0] if is_static(shape) else ctx.cast(inputs[0], ones)
        return relax.op.squeeze(data, axes)
