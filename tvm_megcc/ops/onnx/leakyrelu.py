"""LeakyRelu."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.activations import leaky
from ..common.defaults import f32

_ALPHA = f32(0.01)


class LeakyRelu(OnnxOp):
    """``nn.leakyrelu``."""

    name = "LeakyRelu"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return leaky(ctx, inputs[0], attrs.get("alpha", _ALPHA))
