"""MaxRoiPool."""

from __future__ import annotations

from tvm import relax

from ...dims import compare
from .. import Attrs, Context, Inputs, Result
from ..common.context import expr_dtype
from ..common.indexing import in_bounds
from ..common.stock import StockOp


class MaxRoiPool(StockOp):
    """``roi_pool``; the first number of a region is that of its image."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if compare("eq", inputs.shape(1)[1], 5) == 0:
            raise ctx.ill_typed(f"regions {list(inputs.shape(1))}, of which each has 5 numbers")
        rois = ctx.cast(inputs[1], [inputs.shape(1)[0], 5])
        column = ctx.emit(relax.op.strided_slice(rois, [1], [0], [1]))
        holds = in_bounds(ctx, column, 0, inputs.shape(0)[0] - 1)
        rois = _in_pixels(ctx, ctx.checked(rois, holds), attrs.get("spatial_scale", 1.0))
        inputs = inputs.replaced(1, rois)
        for axis in (2, 3):  # of nothing there is no largest element
            inputs = inputs.replaced(0, ctx.at_least(inputs[0], axis, 1))
        return super().convert(ctx, inputs, {**attrs, "spatial_scale": 1.0})


def _in_pixels(ctx: Context, rois: relax.Expr, scale: float) -> relax.Expr:
    """The regions in whole pixels, halves away from 0: TVM rounds those below 0 up."""
    op, dtype = relax.op, expr_dtype(rois)
    scaled = ctx.emit(op.multiply(rois, ctx.const(scale, dtype)))
    whole = ctx.emit(op.trunc(scaled))
    part = ctx.emit(op.subtract(scaled, whole))
    half, zero = ctx.const(0.5, dtype), ctx.const(0, dtype)
    up = op.where(op.less_equal(half, part), ctx.const(1, dtype), zero)
    down = op.where(op.less_equal(part, op.negative(half)), ctx.const(-1, dtype), zero)
    rounded = ctx.emit(op.add(whole, ctx.emit(op.add(up, down))))
    is_image = ctx.const([[True, False, False, False, False]], "bool")
    return ctx.emit(op.where(is_image, rois, rounded))
