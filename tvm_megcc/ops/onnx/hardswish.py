"""HardSwish."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.activations import hard_sigmoid


class HardSwish(OnnxOp):
    """``x * clip(x / 6 + 0.5, 0, 1)``."""

    name = "HardSwish"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return relax.op.multiply(inputs[0], hard_sigmoid(ctx, inputs[0], 1 / 6, 0.5))
