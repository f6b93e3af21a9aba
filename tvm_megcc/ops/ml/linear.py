"""Linear models, which compute in f32."""

from __future__ import annotations

import numpy as np
from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import expr_dtype
from ..common.scores import as_real, highest, integer_labels, labels, transformed


def linear(
    ctx: Context, inputs: Inputs, attrs: Attrs, targets: int | None, dtype: str = "float32"
) -> relax.Expr:
    """``[rows, targets]`` scores in `dtype`; without `targets` there are as many as intercepts."""
    data = as_real(ctx, inputs[0])
    data = data if expr_dtype(data) == dtype else ctx.as_f32(data)
    weights = np.array(attrs["coefficients"], np.float32)
    intercepts = attrs.get("intercepts") or []
    if targets is None:
        targets = len(intercepts) or weights.size // ctx.static(ctx.shape(data)[1:])[0]
    weights = weights.reshape(targets, -1)
    wanted = [*ctx.shape(data)[:-1], weights.shape[1]]
    data = ctx.agreeing(data, wanted, "its coefficients")
    matrix = ctx.const(weights.T, dtype)
    scores = ctx.emit(relax.op.matmul(data, matrix))
    if not intercepts:
        return scores
    return ctx.emit(relax.op.add(scores, ctx.const(np.array(intercepts), dtype)))


class LinearClassifier(OnnxOp):
    """A score for each class, and the label of the highest one.

    A single score is that of the second class; the first one has what is left to 1.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        names = integer_labels(ctx, attrs, "classlabels_ints")
        post = attrs.get("post_transform", "NONE")
        scores = linear(ctx, inputs, attrs, None)
        classes = ctx.shape(scores)[1]
        if classes > 1:
            label = highest(ctx, scores)
            return labels(ctx, label, names), transformed(ctx, scores, post)
        positive = ctx.emit(relax.op.greater(scores, ctx.const(0, "float32")))
        label = ctx.emit(relax.op.squeeze(positive, [1]))
        if names is None:
            return labels(ctx, label, None), transformed(ctx, scores, post)
        if len(names) != 2 or post == "PROBIT":
            fact = f"one score for {len(names)} classes with post_transform '{post}'"
            raise ctx.unsupported(fact, "give it as many scores as classes")
        if post == "LOGISTIC":
            scores = ctx.emit(relax.op.sigmoid(scores))
        other = ctx.emit(relax.op.subtract(ctx.const(1, "float32"), scores))
        return labels(ctx, label, names), relax.op.concat([other, scores], 1)


class LinearRegressor(OnnxOp):
    """``x @ coefficients.T + intercepts``; of f64 in f64, rounded at the end."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dtype = "float64" if inputs.dtype(0) == "float64" else "float32"
        scores = linear(ctx, inputs, attrs, attrs.get("targets", 1), dtype)
        return ctx.as_f32(transformed(ctx, scores, attrs.get("post_transform", "NONE")))


OPERATORS = [LinearClassifier, LinearRegressor]
