"""ai.onnx.ml::LinearClassifier with integer labels."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.scores import highest, integer_labels, labels, linear, transformed


class LinearClassifier(OnnxOp):
    """A score for each class, and the label of the highest one.

    A single score is that of the second class; the first one has what is left to 1.
    """

    name = "LinearClassifier"

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
