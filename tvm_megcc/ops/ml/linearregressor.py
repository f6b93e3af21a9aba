"""ai.onnx.ml::LinearRegressor."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.scores import linear, transformed


class LinearRegressor(OnnxOp):
    """``x @ coefficients.T + intercepts``; of f64 in f64, rounded at the end."""

    name = "LinearRegressor"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dtype = "float64" if inputs.dtype(0) == "float64" else "float32"
        scores = linear(ctx, inputs, attrs, attrs.get("targets", 1), dtype)
        return ctx.as_f32(transformed(ctx, scores, attrs.get("post_transform", "NONE")))
