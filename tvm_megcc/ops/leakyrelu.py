"""LeakyRelu."""

from __future__ import annotations

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._activations import leaky


class LeakyRelu(OnnxOp):
    """``nn.leakyrelu``."""

    name = "LeakyRelu"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return leaky(ctx, inputs[0], attrs.get("alpha", 0.01))
