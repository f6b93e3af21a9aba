"""Squeeze, with axes as attribute or operand (opset 13), or without."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._shapes import normal_axis


class Squeeze(OnnxOp):
    """``squeeze``."""

    name = "Squeeze"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        axes = inputs.need_ints(1, "axes") if inputs.has(1) else attrs.get("axes")
        if axes is None:
            axes = [i for i, d in enumerate(shape) if isinstance(d, int) and d == 1]
        axes = [normal_axis(axis, len(shape)) for axis in axes]
        return relax.op.squeeze(inputs[0], axes) if axes else inputs[0]
