"""ai.onnx.ml::ArrayFeatureExtractor."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._context import volume


class ArrayFeatureExtractor(OnnxOp):
    """The named columns of the last axis; of a vector, as one row."""

    name = "ArrayFeatureExtractor"
    domain = "ai.onnx.ml"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        places = ctx.reshape(inputs[1], [volume(inputs.shape(1))])
        data = ctx.reshape(inputs[0], [1, *shape]) if len(shape) == 1 else inputs[0]
        return relax.op.take(data, places, max(len(shape) - 1, 1), "clip")
