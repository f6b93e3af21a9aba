"""ai.onnx.ml::TreeEnsembleClassifier with integer labels."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import expr_dtype
from ..common.scores import as_real, highest, integer_labels, labels, transformed
from ..common.trees import Forest, forest, reals, scores, voted


class TreeEnsembleClassifier(OnnxOp):
    """All trees walk their levels together; the label is that of the highest score."""

    name = "TreeEnsembleClassifier"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        names = integer_labels(ctx, attrs, "classlabels_int64s")
        if names is None:
            raise ctx.unsupported("has no labels", "give it integer labels")
        data = as_real(ctx, inputs[0])
        post, base = attrs.get("post_transform", "NONE"), reals(attrs, "base_values")
        if len(set(attrs["class_ids"])) == 1 and len(names) == 2:
            label, result = self._binary(ctx, data, attrs, post, base)
        else:
            trees = forest(ctx, attrs, "class", "class_ids")
            total = scores(ctx, data, trees, len(names), base)
            label = highest(ctx, self._eligible(ctx, data, trees, total, base))
            result = transformed(ctx, total, post)
        return labels(ctx, label, names), ctx.as_f32(result)

    @staticmethod
    def _eligible(
        ctx: Context, data: relax.Expr, trees: Forest, total: relax.Expr, base: Sequence[float]
    ) -> relax.Expr:
        """The scores of which the label is the highest one's: of more than two classes without
        base values those that a leaf votes for, as in ONNX Runtime."""
        classes = ctx.static(ctx.shape(total)[1:])[0]
        found = voted(ctx, data, trees, classes) if classes > 2 and not base else None
        if found is None:
            return total
        least = ctx.const(-float("inf"), expr_dtype(total))
        return ctx.emit(relax.op.where(found, total, least))

    @staticmethod
    def _binary(
        ctx: Context, data: relax.Expr, attrs: Attrs, post: str, base: Sequence[float]
    ) -> tuple[relax.Expr, relax.Expr]:
        """One column of weights for two classes: if it is the first one's, the other is derived.

        Weights that are all positive are taken for probabilities.
        """
        named, one = attrs["class_ids"][0], {**attrs, "class_ids": [0] * len(attrs["class_ids"])}
        if named not in (0, 1):
            raise ctx.ill_typed(f"has weights for class {named} of 2")
        if post == "PROBIT" or (any(base) if named else len(base) > 1):
            fact = f"weights for class {named} only, '{post}' and base values {base}"
            raise ctx.unsupported(fact, "give it weights for both classes")
        total = scores(ctx, data, forest(ctx, one, "class", "class_ids"), 1, base)
        probable = min(reals(attrs, "class_weights")) >= 0
        limit = ctx.const(0.5 if probable else 0.0, expr_dtype(total))
        positive = ctx.emit(relax.op.astype(relax.op.greater(total, limit), "int64"))
        label = ctx.emit(relax.op.squeeze(positive, [1]))
        if named:
            both = relax.op.concat([relax.op.zeros_like(total), total], 1)
            return label, transformed(ctx, ctx.emit(both), post)
        columns = [relax.op.negative(total), total]
        if post == "LOGISTIC":
            columns = [relax.op.sigmoid(part) for part in columns]
        elif probable:
            columns[0] = relax.op.subtract(ctx.const(1, expr_dtype(total)), total)
        return label, ctx.emit(relax.op.concat([ctx.emit(part) for part in columns], 1))
