"""com.microsoft::SkipSimplifiedLayerNormalization."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.normed import EPSILON, simple, summed, total


class SkipSimplifiedLayerNormalization(OnnxOp):
    """A sum by the root of its mean square.

    Operands: input, skip, gamma, bias. Results: the last one is the sum.
    """

    labels = staticmethod(summed)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if ctx.wants(1):
            raise ctx.unsupported("its output mean is used", "do without it: there is no mean")
        x = total(ctx, inputs, 3)
        result, inverse = simple(ctx, x, inputs[2], attrs.get("epsilon", EPSILON))
        return result, inverse, inverse, x
