"""ai.onnx.ml::TreeEnsembleRegressor."""

from __future__ import annotations

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._trees import forest, scores, transformed


class TreeEnsembleRegressor(OnnxOp):
    """All trees walk their levels together; their leaves are aggregated."""

    name = "TreeEnsembleRegressor"
    domain = "ai.onnx.ml"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        trees = forest(ctx, attrs, attrs.get("n_targets", 1), "target", "target_ids")
        aggregate = attrs.get("aggregate_function", "SUM")
        total = scores(ctx, inputs, trees, attrs.get("base_values", []), aggregate)
        return transformed(ctx, total, attrs.get("post_transform", "NONE"))
