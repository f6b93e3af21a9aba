"""Selu."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.activations import elu

#: The defaults, as ONNX has them.
_ALPHA, _GAMMA = 1.67326319217681884765625, 1.05070102214813232421875


class Selu(OnnxOp):
    """``gamma * elu(x, alpha)``."""

    name = "Selu"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        curve = ctx.emit(elu(ctx, inputs[0], attrs.get("alpha", _ALPHA)))
        gamma = ctx.const(attrs.get("gamma", _GAMMA), inputs.dtype(0))
        return relax.op.multiply(gamma, curve)
