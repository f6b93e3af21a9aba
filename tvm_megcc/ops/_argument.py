"""ArgMax and ArgMin: where along an axis the extreme stands, which needs an element to be there."""

from __future__ import annotations

from ._context import Attrs, Context
from ._inputs import Inputs
from ._operator import Result
from ._shapes import normal_axis
from ._stock import StockOp, convert


class Argument(StockOp):
    """TVM's conversion, for an axis that is there and not empty."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        axis = normal_axis(int(attrs.get("axis", 0)), inputs.rank(0))
        return convert(ctx, [ctx.at_least(inputs[0], axis, 1)], attrs)
