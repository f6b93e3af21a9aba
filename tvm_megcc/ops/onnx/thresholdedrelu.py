"""ThresholdedRelu."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.activations import thresholded


class ThresholdedRelu(OnnxOp):
    """``x`` above ``alpha``, else 0."""

    name = "ThresholdedRelu"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return thresholded(ctx, inputs[0], attrs.get("alpha", 1.0))
