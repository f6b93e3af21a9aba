"""HardSigmoid."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.activations import hard_sigmoid


class HardSigmoid(OnnxOp):
    """``clip(x * alpha + beta, 0, 1)``."""

    name = "HardSigmoid"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return hard_sigmoid(ctx, inputs[0], attrs.get("alpha", 0.2), attrs.get("beta", 0.5))
