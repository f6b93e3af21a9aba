"""ai.onnx.ml::Binarizer."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result


class Binarizer(OnnxOp):
    """1 above the threshold, else 0."""

    name = "Binarizer"
    domain = "ai.onnx.ml"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dtype = inputs.dtype(0)
        limit = ctx.const(attrs.get("threshold", 0.0), "float32")
        data = inputs[0] if dtype == "float32" else relax.op.astype(inputs[0], "float32")
        return relax.op.astype(ctx.emit(relax.op.greater(data, limit)), dtype)
