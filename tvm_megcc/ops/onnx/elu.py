"""Elu."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.activations import elu


class Elu(OnnxOp):
    """``where(x > 0, x, alpha * (exp(min(x, 0)) - 1))``."""

    name = "Elu"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return elu(ctx, inputs[0], attrs.get("alpha", 1.0))
