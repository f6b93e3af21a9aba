"""Dropout, which is nothing in inference."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result


class Dropout(OnnxOp):
    """The operand; the mask, where it is used, is all true."""

    name = "Dropout"
    random = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if inputs.has(2) and bool(inputs.need(2, "its training mode").reshape(-1)[0]):
            ratio = inputs.known(1) if inputs.has(1) else 0.5
            if ratio is None or float(ratio) != 0.0:
                raise ctx.unsupported("is in training mode", "export the model for inference")
        if not ctx.wants(1):
            return inputs[0]
        dtype = "bool" if ctx.opset >= 10 else inputs.dtype(0)
        return inputs[0], relax.op.full(ctx.prims(inputs.shape(0)), ctx.const(1, dtype), dtype)
