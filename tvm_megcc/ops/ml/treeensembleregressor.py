"""ai.onnx.ml::TreeEnsembleRegressor."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.scores import as_real, transformed
from ..common.trees import forest, reals, scores


class TreeEnsembleRegressor(OnnxOp):
    """All trees walk their levels together; their leaves are aggregated."""

    name = "TreeEnsembleRegressor"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        total = scores(
            ctx,
            as_real(ctx, inputs[0]),
            forest(ctx, attrs, "target", "target_ids"),
            attrs.get("n_targets", 1),
            reals(attrs, "base_values"),
            attrs.get("aggregate_function", "SUM"),
        )
        return ctx.as_f32(transformed(ctx, total, attrs.get("post_transform", "NONE")))
