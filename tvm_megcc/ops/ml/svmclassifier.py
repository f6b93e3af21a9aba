"""ai.onnx.ml::SVMClassifier with integer labels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.scores import highest, integer_labels, labels, transformed
from ..common.svm import features, kernel, pairs, probabilities


class SVMClassifier(OnnxOp):
    """A score and a vote for each pair of classes; a linear one has a score for each class."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        names = integer_labels(ctx, attrs, "classlabels_ints")
        classes = max(len(names or []), 1)
        data = features(ctx, inputs[0])
        if attrs.get("vectors_per_class"):
            scores = _pair_scores(ctx, data, attrs, classes)
            label = labels(ctx, relax.op.argmax(_votes(ctx, scores, classes), 1), names)
            if attrs.get("prob_a"):
                scores = probabilities(ctx, scores, attrs, classes)
        else:
            weights = np.array(attrs["coefficients"], np.float32).reshape(classes, -1)
            wanted = [ctx.shape(data)[0], weights.shape[1]]
            data = ctx.agreeing(data, wanted, "its coefficients")
            scores = ctx.emit(relax.op.matmul(data, ctx.const(weights.T, "float32")))
            scores = ctx.emit(relax.op.add(scores, ctx.const(attrs["rho"][0], "float32")))
            label = _linear_label(ctx, attrs, scores, names)
        return label, self._scores(ctx, attrs, scores, names)

    @staticmethod
    def _scores(
        ctx: Context, attrs: Attrs, scores: relax.Expr, names: Sequence[int] | None
    ) -> relax.Expr:
        post = attrs.get("post_transform", "NONE")
        if ctx.shape(scores)[1] == 1 and len(names or []) == 2 and len(attrs["rho"]) == 1:
            if post == "PROBIT":
                raise ctx.unsupported("one score with post_transform 'PROBIT'", "use LOGISTIC")
            other = ctx.emit(relax.op.negative(scores))
            scores = ctx.emit(relax.op.concat([other, scores], 1))
        return transformed(ctx, scores, post)


def _pair_scores(ctx: Context, data: relax.Expr, attrs: Attrs, classes: int) -> relax.Expr:
    """``[rows, pairs]``: of each pair the kernels of its own vectors, weighted.

    One product for each class, whose vectors have weights against every other class. A product with
    zeros for the others' vectors would be NaN where a kernel is infinite.
    """
    op, counts = relax.op, attrs["vectors_per_class"]
    vectors = np.array(attrs["support_vectors"], np.float32).reshape(sum(counts), -1)
    weights = np.array(attrs["coefficients"], np.float32).reshape(-1, sum(counts))
    kernels, ends = kernel(ctx, data, vectors, attrs), np.cumsum([0, *counts])
    parts = []
    for start, end in itertools.pairwise(ends.tolist()):
        own = ctx.emit(op.strided_slice(kernels, [1], [start], [end], [1]))
        parts.append(ctx.emit(op.matmul(own, ctx.const(weights[:, start:end].T, "float32"))))
    whole = ctx.emit(op.concat(parts, 1))
    others = len(weights)  # that a class has weights against
    sides = [(i * others + j - 1, j * others + i) for i, j in pairs(classes)]
    first, second = (
        ctx.emit(op.take(whole, ctx.const(side, "int64"), 1))
        for side in np.array(sides, np.int64).reshape(-1, 2).T
    )
    total = ctx.emit(op.add(first, second))
    return ctx.emit(op.add(total, ctx.const(np.array(attrs["rho"]), "float32")))


def _votes(ctx: Context, scores: relax.Expr, classes: int) -> relax.Expr:
    """``[rows, classes]``: how many pairs each class wins."""
    won, lost = np.zeros((2, len(pairs(classes)), classes), np.float32)
    for k, (i, j) in enumerate(pairs(classes)):
        won[k, i] = lost[k, j] = 1
    first = relax.op.greater(scores, ctx.const(0, "float32"))
    first = ctx.emit(relax.op.astype(ctx.emit(first), "float32"))
    moved = ctx.emit(relax.op.matmul(first, ctx.const(won - lost, "float32")))
    return ctx.emit(relax.op.add(moved, ctx.const(lost.sum(0), "float32")))


def _linear_label(
    ctx: Context, attrs: Attrs, scores: relax.Expr, names: Sequence[int] | None
) -> relax.Expr:
    """The label of the highest score.

    With two labels it is the second one wherever a score is positive, or, where all weights are
    positive, at least a half; with none the sign is the label. So ONNX Runtime has it.
    """
    op, one = relax.op, ctx.const(1, "int64")
    best = ctx.emit(op.astype(highest(ctx, scores), "int64"))
    top = ctx.emit(op.max(scores, [1]))
    if len(names or []) > 2:
        return labels(ctx, best, names)
    if len(names or []) == 2:
        if min(attrs["coefficients"]) >= 0:
            high = ctx.emit(op.greater_equal(top, ctx.const(0.5, "float32")))
        else:
            high = ctx.emit(op.greater(top, ctx.const(0, "float32")))
        return labels(ctx, ctx.emit(op.where(high, one, best)), names)
    positive = ctx.emit(op.greater(top, ctx.const(0, "float32")))
    return ctx.emit(op.astype(positive, "int64"))
