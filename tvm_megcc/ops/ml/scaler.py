"""ai.onnx.ml::Scaler."""

from __future__ import annotations

import numpy as np
from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.operands import for_columns


class Scaler(OnnxOp):
    """``(x - offset) * scale``, each one number or one for each column; in f32, of f64 in f64."""

    name = "Scaler"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dtype = "float64" if inputs.dtype(0) == "float64" else "float32"
        x = inputs[0] if inputs.dtype(0) == dtype else ctx.as_f32(inputs[0])
        for function, name in ((relax.op.subtract, "offset"), (relax.op.multiply, "scale")):
            if attrs.get(name):
                x = for_columns(ctx, x, attrs[name], f"its {name}")
                x = ctx.emit(function(x, ctx.const(np.array(attrs[name]), dtype)))
        return ctx.as_f32(x)
