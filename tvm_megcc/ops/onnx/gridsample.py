"""GridSample."""

from __future__ import annotations

from tvm import relax

from ...dims import minimum, product
from ...shapes.constraints import EXACTLY, Labels, Shape
from .. import Attrs, Context, Inputs, Result
from ..common.activations import clip
from ..common.stock import StockOp, convert

#: Positions this far outside are outside of any image, and f32 has no fraction of a pixel there.
_FAR = 1e6


class GridSample(StockOp):
    """``grid_sample``; an axis of 1 is doubled for TVM, which divides by the size less 1.

    An image without elements has none to sample, with whatever padding.
    """

    slow = True

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        rank = len(shapes[0] or ())
        return [["batch"], ["batch", *[None] * (rank - 2), (EXACTLY, rank - 2)]]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        values = [inputs[0], ctx.emit(clip(ctx, inputs[1], -_FAR, _FAR))]
        samples = [*inputs.shape(0)[:2], *inputs.shape(1)[1:-1]]
        for axis in range(2, inputs.rank(0)):
            values[0] = ctx.at_least(values[0], axis, minimum(1, product(samples)))
        if attrs.get("padding_mode", "zeros") == "reflection" and attrs.get("align_corners", 0):
            for axis, size in enumerate(inputs.shape(0)[2:], start=2):
                if size == 1:
                    twice = relax.op.concat([values[0], values[0]], axis)
                    values[0] = ctx.emit(twice)
                elif not isinstance(size, int):
                    values[0] = ctx.at_least(values[0], axis, 2)
        # TVM mixes elements of the image's type with weights of the grid's: both have one type.
        dtype, wide = inputs.dtype(0), inputs.dtype(1)
        if attrs.get("mode", "linear") == "nearest" or dtype == wide:
            return convert(ctx, values, attrs)
        if dtype in ("float64", "int64", "uint64", "int32", "uint32"):
            wide = "float64"
        values = [ctx.emit(relax.op.astype(value, wide)) for value in values]
        return relax.op.astype(ctx.emit(convert(ctx, values, attrs)), dtype)
