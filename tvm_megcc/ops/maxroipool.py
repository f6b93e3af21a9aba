"""MaxRoiPool."""

from __future__ import annotations

from tvm import relax

from ..dims import compare
from . import Attrs, Context, Inputs, Result
from ._indexing import in_bounds
from ._stock import StockOp


class MaxRoiPool(StockOp):
    """``roi_pool``; the first number of a region is that of its image."""

    name = "MaxRoiPool"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if compare("eq", inputs.shape(1)[1], 5) == 0:
            raise ctx.ill_typed(f"regions {list(inputs.shape(1))}, of which each has 5 numbers")
        rois = ctx.cast(inputs[1], [inputs.shape(1)[0], 5])
        column = ctx.emit(relax.op.strided_slice(rois, [1], [0], [1]))
        holds = in_bounds(ctx, column, 0, inputs.shape(0)[0] - 1)
        inputs = inputs.replaced(1, ctx.checked(rois, holds))
        for axis in (2, 3):  # of nothing there is no largest element
            inputs = inputs.replaced(0, ctx.at_least(inputs[0], axis, 1))
        return super().convert(ctx, inputs, attrs)
