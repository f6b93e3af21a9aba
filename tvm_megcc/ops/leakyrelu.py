"""LeakyRelu."""

from __future__ import annotations

import numpy as np

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._activations import leaky

#: The default is an f32, as all attributes are.
_ALPHA = float(np.float32(0.01))


class LeakyRelu(OnnxOp):
    """``nn.leakyrelu``."""

    name = "LeakyRelu"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return leaky(ctx, inputs[0], attrs.get("alpha", _ALPHA))
