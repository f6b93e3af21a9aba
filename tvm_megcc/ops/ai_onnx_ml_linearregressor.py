"""ai.onnx.ml::LinearRegressor."""

from __future__ import annotations

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._linear import linear
from ._scores import transformed


class LinearRegressor(OnnxOp):
    """``x @ coefficients.T + intercepts``."""

    name = "LinearRegressor"
    domain = "ai.onnx.ml"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        scores = linear(ctx, inputs, attrs, attrs.get("targets", 1))
        return transformed(ctx, scores, attrs.get("post_transform", "NONE"))
