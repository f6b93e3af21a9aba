"""Unsqueeze, with axes as attribute or operand (opset 13)."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._shapes import normal_axis


class Unsqueeze(OnnxOp):
    """``expand_dims``."""

    name = "Unsqueeze"
    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        axes = inputs.need_ints(1, "axes") if inputs.has(1) else attrs["axes"]
        rank = inputs.rank(0) + len(axes)
        axes = sorted(normal_axis(axis, rank) for axis in axes)
        return relax.op.expand_dims(inputs[0], axes) if axes else inputs[0]
