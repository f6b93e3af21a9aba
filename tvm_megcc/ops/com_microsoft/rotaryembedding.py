"""com.microsoft::RotaryEmbedding."""

from __future__ import annotations

from collections.abc import Hashable

from tvm import relax

from ...shapes.constraints import EXACTLY, Labels, Shape
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.attention import heads, joined
from ..common.rotary import rotated, table


class RotaryEmbedding(OnnxOp):
    """Operands: input (by heads or not), places or the first of them, cosines and sines."""

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        turned = attrs.get("rotary_embedding_dim", 0)
        half: Hashable = (EXACTLY, turned // 2) if turned else "half"
        return [[], [], ["places", half], ["places", half]]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if attrs.get("is_packed_batching", 0) or attrs.get("scale", 1.0) != 1.0:
            raise ctx.unsupported("is_packed_batching or a scale", "export without them")
        x, by_heads = inputs[0], inputs.rank(0) == 4
        if not by_heads:
            x = heads(ctx, x, self._count(ctx, inputs, attrs))
        length = ctx.shape(x)[2]
        places = ctx.emit(relax.op.astype(inputs[1], "int64"))
        if inputs.rank(1) == 1:
            places = ctx.agreeing(places, [1], "the first of its places")
            number = ctx.emit(relax.op.arange(0, ctx.prim(length), 1, "int64"))
            places = ctx.reshape(ctx.emit(relax.op.add(number, places)), [1, length])
        else:
            places = ctx.cast(places, [ctx.shape(x)[0], length])
        cos, sin = (table(ctx, inputs[k], places) for k in (2, 3))
        if turned := attrs.get("rotary_embedding_dim", 0):
            x = ctx.at_least(x, 3, turned)
        else:
            x = ctx.agreeing(x, [*ctx.shape(x)[:3], 2 * ctx.shape(cos)[3]], "twice its tables")
        result = rotated(ctx, x, cos, sin, bool(attrs.get("interleaved", 0)))
        return result if by_heads else joined(ctx, result)

    @staticmethod
    def _count(ctx: Context, inputs: Inputs, attrs: Attrs) -> int:
        """How many heads there are; without a partial rotation the tables say it."""
        if attrs.get("num_heads", 0):
            return int(attrs["num_heads"])
        hidden, half = ctx.static([inputs.shape(0)[2], inputs.shape(2)[1]])
        return hidden // (2 * half)
