"""com.microsoft::FusedConv: what ONNX Runtime writes for Conv + bias + residual + activation."""

from __future__ import annotations

from tvm import relax

from ...shapes.constraints import convolution
from .. import Attrs, Context, Inputs, OnnxOp, Result, find
from ..common.activations import activate


class FusedConv(OnnxOp):
    """The Conv's conversion, an ``add`` of the residual operand, then the named activation."""

    name = "FusedConv"
    labels = staticmethod(convolution(0, 1))

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        conv = find("", "Conv")
        assert conv is not None
        result = ctx.emit(conv.convert(ctx, inputs, attrs))
        if inputs.has(3):
            other = ctx.agreeing(inputs[3], ctx.shape(result), "its convolution")
            result = ctx.emit(relax.op.add(result, other))
        if "activation" not in attrs:
            return result
        return activate(ctx, attrs["activation"], result, attrs.get("activation_params", []))
