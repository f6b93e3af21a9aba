"""ai.onnx.ml::TreeEnsembleClassifier with integer labels."""

from __future__ import annotations

import numpy as np
from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._trees import forest, scores, transformed


class TreeEnsembleClassifier(OnnxOp):
    """All trees walk their levels together; the label is that of the highest score."""

    name = "TreeEnsembleClassifier"
    domain = "ai.onnx.ml"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        labels = attrs.get("classlabels_int64s")
        if labels is None:
            raise ctx.unsupported("its labels are strings", "give it integer labels")
        columns = len(set(attrs["class_ids"]))
        if columns == 1 and len(labels) == 2:
            return self._binary(ctx, inputs, attrs, labels)
        trees = forest(ctx, attrs, len(labels), "class", "class_ids")
        total = scores(ctx, inputs, trees, attrs.get("base_values", []))
        label = _label(ctx, relax.op.argmax(total, 1), labels)
        return label, transformed(ctx, total, attrs.get("post_transform", "NONE"))

    @staticmethod
    def _binary(ctx: Context, inputs: Inputs, attrs: Attrs, labels: list[int]) -> Result:
        """One column of weights for two classes: the second column is derived."""
        post = attrs.get("post_transform", "NONE")
        if post not in ("NONE", "LOGISTIC"):
            raise ctx.unsupported(f"one column of weights and '{post}'", "use NONE or LOGISTIC")
        one = {**attrs, "class_ids": [0] * len(attrs["class_ids"])}
        trees = forest(ctx, one, 1, "class", "class_ids")
        total = scores(ctx, inputs, trees, attrs.get("base_values", []))
        weights = attrs["class_weights"]
        probability = post == "NONE" and min(weights) >= 0 and max(weights) <= 1
        limit = ctx.const(0.5 if probability else 0.0, "float32")
        positive = relax.op.astype(relax.op.greater(total, limit), "int64")
        label = _label(ctx, relax.op.squeeze(ctx.emit(positive), [1]), labels)
        if post == "LOGISTIC":
            both = [relax.op.sigmoid(relax.op.negative(total)), relax.op.sigmoid(total)]
        elif probability:
            both = [relax.op.subtract(ctx.const(1, "float32"), total), total]
        else:
            both = [relax.op.negative(total), total]
        return label, relax.op.concat([ctx.emit(part) for part in both], 1)


def _label(ctx: Context, index: relax.Expr, labels: list[int]) -> relax.Expr:
    index = ctx.emit(index)
    if list(labels) == list(range(len(labels))):
        return index
    return relax.op.take(ctx.const(np.array(labels), "int64"), index, 0, "clip")
