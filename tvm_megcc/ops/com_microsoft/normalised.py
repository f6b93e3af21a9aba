"""Layer normalisations with the sums before them."""

from __future__ import annotations

from collections.abc import Hashable

from tvm import relax

from ...shapes.constraints import BROADCAST, WHOLE, Labels, Shape
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.indexing import rows_inside
from ..common.normed import EPSILON, layer, simple, summed, total


class SkipLayerNormalization(OnnxOp):
    """Layer normalisation of a sum.

    Operands: input, skip, gamma, beta, bias. Results: the last one is the sum.
    """

    labels = staticmethod(summed)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x = total(ctx, inputs, 4)
        normed = layer(ctx, x, inputs[2], inputs[3], attrs.get("epsilon", EPSILON))
        return *normed, x


class SkipSimplifiedLayerNormalization(OnnxOp):
    """A sum by the root of its mean square.

    Operands: input, skip, gamma, bias. Results: the last one is the sum.
    """

    labels = staticmethod(summed)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if ctx.wants(1):
            raise ctx.unsupported("its output mean is used", "do without it: there is no mean")
        x = total(ctx, inputs, 3)
        result, inverse = simple(ctx, x, inputs[2], attrs.get("epsilon", EPSILON))
        return result, inverse, inverse, x


class EmbedLayerNormalization(OnnxOp):
    """Layer normalisation of the sum of a word's, its place's and its segment's row.

    Operands: words, segments, the three tables, gamma, beta, mask, places. Results: the normalised
    rows, how many words of each batch the mask has, the sum.
    """

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        ids: list[Hashable] = [(WHOLE, "batch"), "words"]
        own: dict[int, list[Hashable]] = {
            0: ids,
            1: ids,
            **dict.fromkeys((2, 3, 4), [None, "size"]),
            **dict.fromkeys((5, 6), ["size"]),
            7: ids,
            8: [(BROADCAST, "batch"), "words"],
        }
        return [list(own.get(k, [])) for k in range(len(shapes))]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        batch, words = inputs.shape(0)
        x = rows_inside(ctx, inputs[2], inputs[0])
        if inputs.has(8):
            places = inputs[8]
        else:
            places = ctx.emit(relax.op.arange(0, ctx.prim(words), 1, "int64"))
        x = ctx.emit(relax.op.add(x, rows_inside(ctx, inputs[3], places)))
        if inputs.has(1) and inputs.has(4):
            x = ctx.emit(relax.op.add(x, rows_inside(ctx, inputs[4], inputs[1])))
        result, _, _ = layer(ctx, x, inputs[5], inputs[6], attrs.get("epsilon", EPSILON))
        if inputs.has(7):
            one = relax.op.equal(inputs[7], ctx.const(1, inputs.dtype(7)))
            kept = ctx.emit(relax.op.astype(ctx.emit(one), "int32"))
            count = ctx.emit(relax.op.sum(kept, [1]))
        else:
            count = ctx.emit(relax.op.zeros(relax.ShapeExpr(ctx.prims([batch])), "int32"))
        return result, count, x


OPERATORS = [SkipLayerNormalization, SkipSimplifiedLayerNormalization, EmbedLayerNormalization]
