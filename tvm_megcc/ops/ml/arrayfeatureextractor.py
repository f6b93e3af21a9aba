"""ai.onnx.ml::ArrayFeatureExtractor."""

from __future__ import annotations

from ...dims import product
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.indexing import rows


class ArrayFeatureExtractor(OnnxOp):
    """The named columns of the last axis; of a vector, as one row."""

    name = "ArrayFeatureExtractor"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        data = ctx.reshape(inputs[0], [1, *shape]) if len(shape) == 1 else inputs[0]
        found = ctx.emit(rows(ctx, inputs, max(len(shape) - 1, 1), data=data))
        return ctx.reshape(found, [*ctx.shape(data)[:-1], product(inputs.shape(1))])
