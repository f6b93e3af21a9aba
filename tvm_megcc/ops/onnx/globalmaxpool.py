"""GlobalMaxPool."""

from __future__ import annotations

from ...dims import minimum, product
from .. import Attrs, Context, Inputs, Result
from ..common.stock import StockOp, convert


class GlobalMaxPool(StockOp):
    """TVM's conversion, for planes with elements: ONNX knows no largest of none."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape, data = inputs.shape(0), inputs[0]
        for axis in range(2, len(shape)):  # of no planes there is nothing to say
            data = ctx.at_least(data, axis, minimum(1, product(shape[:2])))
        return convert(ctx, [data], attrs)
