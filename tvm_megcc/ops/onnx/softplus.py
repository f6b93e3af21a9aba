"""Softplus."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.activations import softplus


class Softplus(OnnxOp):
    """``log(1 + exp(x))``."""

    name = "Softplus"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return softplus(ctx, inputs[0])
