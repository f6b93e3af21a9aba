"""ai.onnx.ml::Scaler."""

from __future__ import annotations

import numpy as np
from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result


class Scaler(OnnxOp):
    """``(x - offset) * scale`` in f32, each one number or one for each column."""

    name = "Scaler"
    domain = "ai.onnx.ml"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x = ctx.as_f32(inputs[0])
        if attrs.get("offset"):
            offset = ctx.const(np.array(attrs["offset"]), "float32")
            x = ctx.emit(relax.op.subtract(x, offset))
        if attrs.get("scale"):
            x = ctx.emit(relax.op.multiply(x, ctx.const(np.array(attrs["scale"]), "float32")))
        return x
