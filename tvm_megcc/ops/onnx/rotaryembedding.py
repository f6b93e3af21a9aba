"""RotaryEmbedding."""

from __future__ import annotations

from collections.abc import Hashable

from tvm import relax

from ...dims import compare
from ...shapes.constraints import EXACTLY, Labels, Shape
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.indexing import rows_inside
from ..common.rotary import rotated


class RotaryEmbedding(OnnxOp):
    """Operands: input (by heads or not), cosines, sines and, for tables of all places, places.

    Without heads as an axis of its own the places come before the heads, which stay where they
    are: nothing is transposed.
    """

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        x, cos = (shape or () for shape in shapes[:2])
        turned = attrs.get("rotary_embedding_dim", 0)
        half: Hashable = (EXACTLY, turned // 2) if turned else "half"
        rows = ["batch", "length"] if len(cos) == 3 else ["places"]
        data = ["batch", None, "length", None] if len(x) == 4 else ["batch", "length", None]
        labels: Labels = [[*data], [*rows, half], [*rows, half], ["batch", "length"]]
        return labels[: len(shapes)]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        turned = attrs.get("rotary_embedding_dim", 0)
        cos, sin = (self._rows(ctx, inputs, k) for k in (1, 2))
        half = ctx.shape(cos)[2]
        if turned and compare("eq", turned, 2 * half) == 0:
            raise ctx.ill_typed(f"turns {turned} elements by tables of {half}, not of half as many")
        x, shape = inputs[0], inputs.shape(0)
        if len(shape) == 4:
            table = [shape[0], 1, shape[2], half]
        else:
            count = attrs.get("num_heads", 0)
            if count < 1:
                raise ctx.ill_typed("has heads that are no axis of its input, but no num_heads")
            size = shape[2] // count if turned else 2 * half
            x = ctx.reshape(x, [*shape[:2], count, size])
            table = [*shape[:2], 1, half]
        if turned:
            x = ctx.at_least(x, 3, turned)
        else:
            x = ctx.agreeing(x, [*ctx.shape(x)[:3], 2 * half], "twice its tables")
        cos, sin = ctx.reshape(cos, table), ctx.reshape(sin, table)
        result = rotated(ctx, x, cos, sin, bool(attrs.get("interleaved", 0)))
        return ctx.reshape(result, shape)

    @staticmethod
    def _rows(ctx: Context, inputs: Inputs, index: int) -> relax.Expr:
        """``[batch, length, half]``: the rows of a table that belong to the input's places."""
        if not inputs.has(3):
            return inputs[index]
        places = ctx.emit(relax.op.astype(inputs[3], "int64"))
        return rows_inside(ctx, inputs[index], places)
