"""com.microsoft::SkipLayerNormalization."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.normed import EPSILON, layer, summed, total


class SkipLayerNormalization(OnnxOp):
    """Layer normalisation of a sum.

    Operands: input, skip, gamma, beta, bias. Results: the last one is the sum.
    """

    labels = staticmethod(summed)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x = total(ctx, inputs, 4)
        normed = layer(ctx, x, inputs[2], inputs[3], attrs.get("epsilon", EPSILON))
        return *normed, x
