"""com.microsoft::MultiHeadAttention."""

from __future__ import annotations

from collections.abc import Hashable
from math import prod

from tvm import relax

from ...shapes.constraints import EXACTLY, Labels, Shape
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.attention import appended, attended, heads, masked_scores


class MultiHeadAttention(OnnxOp):
    """Attention of projected queries, keys and values, also packed ones.

    Operands: query, key, value, bias, padding mask, attention bias, past key and value. Results:
    the output, the present key and value, the scores.
    """

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        labels: Labels = [["batch"], ["batch", "keys"], ["batch", "keys"]]
        for k, row in enumerate(labels[1:], start=1):
            shape = shapes[k] if len(shapes) > k else None
            if shape is not None and len(shape) == 4:
                row[1:] = [(EXACTLY, attrs["num_heads"]), "keys"]
        past: list[Hashable] = ["batch", (EXACTLY, attrs["num_heads"]), "past"]
        labels += [[], [], [], past, past]
        return [*labels, *([] for _ in shapes)][: len(shapes)]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if inputs.has(8) or inputs.has(9):
            raise ctx.unsupported("shares its past with its present", "export without a buffer")
        q, k, v = self._operands(ctx, inputs, attrs["num_heads"])
        past = (inputs[6], inputs[7])
        k, v = appended(ctx, past[0], k), appended(ctx, past[1], v)
        found = masked_scores(ctx, inputs, attrs, q, k, 4, past[0])
        weights = ctx.emit(relax.op.nn.softmax(found, -1))
        return attended(ctx, weights, v), k, v, found

    @staticmethod
    def _operands(ctx: Context, inputs: Inputs, count: int) -> list[relax.Expr]:
        """Queries, keys and values with their biases, by heads."""
        op = relax.op
        if inputs.rank(0) == 5:
            parts = [inputs[0]] * 3
        elif inputs.rank(1) == 5:
            parts = [inputs[0], inputs[1], inputs[1]]
        else:
            parts = [inputs[0], inputs[1], inputs[2]]
        wide = [MultiHeadAttention._width(ctx, part) for part in parts]
        bias = None
        if inputs.has(3):
            bias = ctx.agreeing(inputs[3], [sum(wide)], "queries, keys and values together")
        found, start = [], 0
        for k, (part, width) in enumerate(zip(parts, wide, strict=True)):
            shape = ctx.shape(part)
            if len(shape) == 5:
                which = k if inputs.rank(0) == 5 else k - 1
                part = ctx.emit(op.take(part, ctx.const(which, "int64"), axis=3))
                part = ctx.reshape(part, [*shape[:2], width])
            if bias is not None and len(shape) != 4:
                own = op.strided_slice(bias, [0], [start], [start + width], [1])
                part = ctx.emit(op.add(part, ctx.emit(own)))
            start += width
            found.append(part if len(shape) == 4 else heads(ctx, part, count))
        return found

    @staticmethod
    def _width(ctx: Context, part: relax.Expr) -> int:
        """The size of all heads of queries, keys or values, which may be there by heads."""
        shape = ctx.shape(part)
        sizes = {4: shape[1:4:2], 5: shape[2:5:2]}.get(len(shape), shape[2:3])
        return prod(ctx.static(sizes))
