"""GridSample."""

from __future__ import annotations

from tvm import relax

from ...dims import minimum, product
from ...shapes.constraints import EXACTLY, Labels, Shape
from .. import Attrs, Context, Inputs, Result
from ..common.activations import clip
from ..common.context import expr_dtype
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
        mode, padding = attrs.get("mode", "linear"), attrs.get("padding_mode", "zeros")
        if (mode, padding) == ("nearest", "reflection"):
            values[1] = _reflected(ctx, values, bool(attrs.get("align_corners", 0)))
            attrs = {**attrs, "padding_mode": "border"}
        # TVM mixes elements of the image's type with weights of the grid's: both have one type.
        dtype, wide = inputs.dtype(0), inputs.dtype(1)
        if mode == "nearest" or dtype == wide:
            return convert(ctx, values, attrs)
        if dtype in ("float64", "int64", "uint64", "int32", "uint32"):
            wide = "float64"
        values = [ctx.emit(relax.op.astype(value, wide)) for value in values]
        return relax.op.astype(ctx.emit(convert(ctx, values, attrs)), dtype)


def _reflected(ctx: Context, values: list[relax.Expr], align: bool) -> relax.Expr:
    """A grid that stands on the nearest pixels, reflected into the image.

    `values` are the image and the grid. ONNX rounds a position before it reflects it, which
    matters where it is a half: 5.5 is pixel 1 of four, and TVM would reflect it to 1.5 first.
    """
    op, dtype = relax.op, expr_dtype(values[1])
    if dtype == "float16":
        values[1], dtype = ctx.emit(op.astype(values[1], "float32")), "float32"
    one, two, half = (ctx.const(value, dtype) for value in (1, 2, 0.5))
    sizes = ctx.sizes([*reversed(ctx.shape(values[0])[2:])], "int64")
    length = ctx.emit(op.astype(sizes, dtype))
    whole = ctx.emit(op.multiply(ctx.emit(op.add(values[1], one)), half))
    # Pixels stand at the corners of the image, or half a pixel inside.
    span = ctx.emit(op.subtract(length, one)) if align else length
    place = ctx.emit(op.multiply(whole, span))
    place = place if align else ctx.emit(op.subtract(place, half))
    pixel = ctx.emit(op.round(place))
    period = ctx.emit(op.multiply(span, two))
    turns = ctx.emit(op.floor(ctx.emit(op.divide(pixel, period))))
    pixel = ctx.emit(op.subtract(pixel, ctx.emit(op.multiply(turns, period))))
    last = period if align else ctx.emit(op.subtract(period, one))
    pixel = ctx.emit(op.minimum(pixel, ctx.emit(op.subtract(last, pixel))))
    place = pixel if align else ctx.emit(op.add(pixel, half))
    part = ctx.emit(op.divide(ctx.emit(op.multiply(place, two)), span))
    return ctx.emit(op.subtract(part, one))
